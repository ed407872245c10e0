// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Heterogeneity on a machine whose processors are all alike: APPORTION_HANDICAP="worker=factor[,worker=factor...]"
// makes chosen CPU workers repeat the arithmetic of every block `factor` times. Results do not change, because a
// kernel's repetition overwrites the same values. Workers are numbered as StarPU and the reports do.
#pragma once

#include <map>
#include <string_view>

namespace apportion {

inline constexpr int kMaxHandicap = 1'000'000;

/// Worker -> factor. Throws UserError, one sentence, when the text is not of that form, names a worker twice,
/// or has a factor outside 1 ... kMaxHandicap.
std::map<int, int> parse_handicaps(std::string_view text);

/// Reads the environment variable and checks it against StarPU's workers, which must be running; throws like above,
/// also when a worker does not exist or is no CPU worker. Kernels run without handicap unless this was called.
void apply_handicaps();

/// How often the calling CPU worker performs its arithmetic: 1 unless it has a handicap.
int repetitions();

}  // namespace apportion
