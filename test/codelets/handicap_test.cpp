// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/handicap.hpp"

#include <starpu.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "models/io/handicaps.hpp"
#include "test/catch.hpp"

using namespace apportion;

namespace {

std::vector<int> repetitions_of_all_workers() {
    static std::vector<int> result;
    result.assign(starpu_worker_get_count(), 0);
    starpu_execute_on_each_worker([](void*) { result[starpu_worker_get_id()] = repetitions(); }, nullptr, STARPU_CPU);
    return result;
}

}  // namespace

TEST_CASE("handicaps are a list of different workers and whole factors") {
    CHECK(parse_handicaps("1=4") == std::map<int, int>{{1, 4}});
    CHECK(parse_handicaps("0=1,12=1000") == std::map<int, int>{{0, 1}, {12, 1000}});
    for (const char* bad : {"", "1", "=4", "1=", "1=0", "1=-2", "-1=2", "1=2.5", "a=2", "1=2;0=3", "1=2,", "1=2,1=3",
                            "1=2=3", " 1=2", "1=1000001", "1=99999999999"}) {
        INFO(bad);
        CHECK_FALSE(parse_handicaps(bad));
    }
}

TEST_CASE("only the chosen workers repeat their arithmetic") {
    REQUIRE(starpu_worker_get_count() >= 2);
    const int last = static_cast<int>(starpu_worker_get_count()) - 1;
    std::vector<int> expected(last + 1, 1);
    setenv("APPORTION_HANDICAP", (std::to_string(last) + "=3").c_str(), 1);
    apply_handicaps();
    expected[last] = 3;
    CHECK(repetitions_of_all_workers() == expected);
    unsetenv("APPORTION_HANDICAP");
    apply_handicaps();
    expected[last] = 1;
    CHECK(repetitions_of_all_workers() == expected);
    CHECK(repetitions() == 1);
}

TEST_CASE("a handicap of a worker that does not exist is refused") {
    setenv("APPORTION_HANDICAP", (std::to_string(starpu_worker_get_count()) + "=2").c_str(), 1);
    CHECK_THROWS_AS(apply_handicaps(), std::runtime_error);
    unsetenv("APPORTION_HANDICAP");
}
