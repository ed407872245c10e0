// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Heterogeneity on a machine whose processors are all alike: APPORTION_HANDICAP="worker=factor[,worker=factor...]"
// makes chosen CPU workers repeat the arithmetic of every block `factor` times. Results do not change, because a
// kernel's repetition overwrites the same values. Workers are numbered as StarPU and the reports do.
#pragma once

namespace apportion {

/// Reads the environment variable, and checks it against StarPU's workers, which must be running: throws UserError when
/// it has another form, or a worker does not exist or is no CPU worker. Kernels run without handicap unless this was
/// called.
void apply_handicaps();

/// How often the calling CPU worker performs its arithmetic: 1 unless it has a handicap.
int repetitions();

}  // namespace apportion
