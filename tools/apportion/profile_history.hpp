// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion profile --import-starpu` and `--export-starpu`: finds StarPU's history models where StarPU looks for them
// (STARPU_PERF_MODEL_DIR, STARPU_HOSTNAME, ...).
#pragma once

#include <string>

namespace apportion {

/// Writes the history model of `symbol` (a codelet's symbol, SYMBOL.HOST, or the path of a file) as the profile
/// `out`, which must not exist. Throws FileError and UserError.
void import_history(const std::string& symbol, const std::string& units_from, const std::string& out);

/// Writes the profile as the history model of `symbol` for this machine, or into the file that `symbol` is a path of;
/// it must not exist. Throws FileError and UserError.
void export_history(const std::string& symbol, const std::string& units_from, const std::string& profile);

}  // namespace apportion
