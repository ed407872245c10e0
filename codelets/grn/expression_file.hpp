// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Gene expression as text: a line with the samples' names, then a line for each gene with its name and one value a
// sample. Fields are separated by tabs where the first line has some, otherwise by blanks (the form of the DREAM5
// challenge's matrices, genes in rows). The first line may have a field above the genes' names or not.
#pragma once

#include <string>

#include "codelets/grn/grn.hpp"

namespace apportion {

/// Throws UserError, file:line, for whatever is not such a table.
Expression read_expression(const std::string& path);

/// Target, predictors, mean conditional entropy in bits and coefficient of determination as a table with tabs.
void write_network(const std::string& path, const GrnProblem& problem);

}  // namespace apportion
