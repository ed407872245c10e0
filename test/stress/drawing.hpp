// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a round of the stress test draws from its seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "test/stress/stress_load.hpp"

namespace apportion::test {

struct Random {
    explicit Random(std::uint64_t seed) : engine(seed) {}
    std::uint64_t below(std::uint64_t n) { return engine() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    double between(double a, double b) { return a + (b - a) * static_cast<double>(below(1 << 20)) / (1 << 20); }

    std::mt19937_64 engine;
};

inline void draw(StressLoad& l, Random& random, int context) {
    const std::uint64_t sizes[] = {0, 1, 2, 7, 64, 1000, 5000, 20000};
    l.units = sizes[random.below(8)];
    if (l.units > 7 && random.one_in(2)) l.units += random.below(l.units);
    const std::uint64_t granularities[] = {1, 1, 1, 3, 16, 100};
    l.granularity = std::min(granularities[random.below(6)], std::max<std::uint64_t>(1, l.units));
    if (random.one_in(3)) l.initial = 1 + random.below(l.units / 4 + 1);
    l.parts = random.one_in(4) ? 2 + static_cast<unsigned>(random.below(3)) : 1;
    if (l.parts > 1) l.granularity = std::max<std::uint64_t>(l.granularity, l.parts), l.units += l.parts;
    l.units = (l.units + l.granularity - 1) / l.granularity * l.granularity;  // each part has units
    l.data = static_cast<Data>(random.below(3));
    l.keep = random.one_in(3);
    l.graph = random.one_in(4);
    l.submissions = 1 + static_cast<int>(random.below(4));
    l.context = context;
    l.seconds_per_unit = random.one_in(3) ? 0 : random.between(1e-7, 2e-5);
    if (random.one_in(2)) {
        l.trouble = static_cast<Trouble>(1 + random.below(3));
        l.troubled_worker = static_cast<int>(random.below(starpu_worker_get_count()));
        l.troubled_block = static_cast<int>(random.below(4));
        l.trouble_s = l.trouble == Trouble::stalls ? random.between(0.3, 1.2) : random.between(0, 0.1);
    }
}

}  // namespace apportion::test
