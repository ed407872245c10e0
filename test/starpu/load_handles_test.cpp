// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Handles that StarPU would reject, or for which a load would wait forever.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/starpu/apportion.h"
#include "test/catch.hpp"
#include "test/starpu/axpy.hpp"
#include "test/starpu/codelet.hpp"

using namespace apportion::test;

namespace {

/// Its tasks read a part of x, and use another handle.
struct Work {
    Axpy axpy{100};
    starpu_data_handle_t other = nullptr;
    starpu_codelet codelet = Axpy::codelet();
    apportion::LoadOptions options{"work", 100, codelet, fill, this};

    explicit Work(starpu_data_access_mode mode) {
        codelet.cpu_funcs[0] = [](void**, void*) {};
        codelet.modes[1] = mode;
    }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Work*>(arg);
        task->handles[0] = apportion_block_vector(block, STARPU_R, &self.axpy.x[block->first], block->units, 8);
        task->handles[1] = self.other;
        return 0;
    }
    void check_ends_with(const std::string& words) {
        const Load load = create(options);
        CHECK(run(load.get()) == -EINVAL);
        CHECK_THAT(apportion_error(), ContainsSubstring(words));
    }
};

starpu_data_filter halves() {
    starpu_data_filter filter{};
    filter.filter_func = starpu_vector_filter_block;
    filter.nchildren = 2;
    return filter;
}

starpu_data_handle_t vector_of(Vector& data) {
    starpu_data_handle_t handle = nullptr;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(data.data()), data.size(), 8);
    return handle;
}

}  // namespace

TEST_CASE("a handle that the load holds itself, and one that nobody has given a value, end the load with a sentence") {
    for (const auto mode : {STARPU_R, STARPU_RW})
        for (const auto& [homeless, invalidated] : {std::pair{false, false}, {true, false}, {false, true}}) {
            Work work(mode);
            double value = 0;
            starpu_variable_data_register(&work.other, homeless ? -1 : STARPU_MAIN_RAM,
                                          homeless ? 0 : reinterpret_cast<uintptr_t>(&value), sizeof value);
            if (invalidated) starpu_data_invalidate(work.other);
            const bool empty = homeless || invalidated;
            apportion_use use{work.other, STARPU_W};
            work.options.uses = empty ? nullptr : &use;
            work.options.uses_count = empty ? 0 : 1;
            work.check_ends_with(empty ? "has no value" : "a handle of `uses`");
            starpu_data_unregister(work.other);
        }
}

TEST_CASE("a sum that had no value before the load is refused, whether StarPU knows how to begin it or not") {
    static starpu_codelet zero = make_codelet([](void**, void*) {}, {STARPU_W}, nullptr);
    static starpu_codelet add = zero;
    add.nbuffers = 2;
    add.modes[0] = static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
    add.modes[1] = STARPU_R;
    for (const bool begins : {false, true}) {
        Work work(STARPU_REDUX);
        starpu_variable_data_register(&work.other, -1, 0, sizeof(double));
        if (begins) starpu_data_set_reduction_methods(work.other, &add, &zero);
        work.check_ends_with("in mode STARPU_REDUX blocks add to the value from before the load; write it");
        starpu_data_unregister(work.other);
    }
}

TEST_CASE("a partitioned handle ends the load with a sentence, and serves when its pieces are together again") {
    Work work(STARPU_R);
    Vector data(10);
    work.other = vector_of(data);
    starpu_data_filter filter = halves();
    starpu_data_partition(work.other, &filter);
    work.check_ends_with("is partitioned, and StarPU uses its pieces only");
    apportion_use use{work.other, STARPU_R};
    work.options.uses = &use;
    work.options.uses_count = 1;
    work.check_ends_with("the handle of options.uses[0] is partitioned");
    starpu_data_unpartition(work.other, STARPU_MAIN_RAM);
    CHECK(run(create(work.options).get()) == 0);
    starpu_data_unregister(work.other);
}

TEST_CASE("a load waits for the value of a handle that it uses, if anybody may give it one", "[once]") {
    static starpu_codelet writes = make_codelet([](void**, void*) { starpu_sleep(0.05F); }, {STARPU_W}, nullptr);
    starpu_task_wait_for_all();
    Work work(STARPU_R);
    starpu_vector_data_register(&work.other, -1, 0, 10, 8);
    apportion_use use{work.other, STARPU_RW};
    work.options.uses = &use;
    work.options.uses_count = 1;
    work.check_ends_with("the handle of options.uses[0] has no value");
    use.mode = STARPU_R;
    work.check_ends_with("the handle of options.uses[0] has no value");
    REQUIRE(starpu_task_insert(&writes, STARPU_W, work.other, 0) == 0);
    CHECK(run(create(work.options).get()) == 0);
    starpu_data_unregister(work.other);
}

TEST_CASE("a load whose tasks have no handles has any number of units", "[once]") {
    Work work(STARPU_R);
    work.codelet.nbuffers = 0;
    work.options.units = std::uint64_t{1} << 60;
    work.options.fill = [](starpu_task*, apportion_block*, void*) { return 0; };
    CHECK(run(create(work.options).get()) == 0);
}

TEST_CASE("data and a piece of them cannot both be held, two pieces can", "[once]") {
    Work work(STARPU_R);
    Vector data(10), more(10);
    const starpu_data_handle_t whole = vector_of(data);
    starpu_data_handle_t pieces[2];
    starpu_data_filter filter = halves();
    starpu_data_partition_plan(whole, &filter, pieces);
    work.other = vector_of(more);
    const auto used = [&](std::vector<apportion_use>&& uses, const std::string& words) {
        work.options.uses = uses.data();
        work.options.uses_count = static_cast<unsigned>(uses.size());
        if (words.empty()) {
            CHECK(run(create(work.options).get()) == 0);
        } else {
            CHECK(apportion_load_create(&work.options) == nullptr);
            CHECK_THAT(apportion_error(), ContainsSubstring(words));
        }
    };
    used({{whole, STARPU_RW}, {pieces[0], STARPU_RW}}, "options.uses[0] and [1]: the memory of the one is a part");
    used({{pieces[1], STARPU_R}, {pieces[0], STARPU_R}, {whole, STARPU_W}}, "options.uses[1] and [2]: the memory");
    used({{pieces[1], STARPU_RW}, {work.other, STARPU_R}, {pieces[0], STARPU_RW}}, "");
    used({{whole, STARPU_RW}, {work.other, STARPU_R}, {whole, STARPU_R}}, "options.uses[0] and [2] are the same");
    starpu_data_partition_clean(whole, 2, pieces);
    starpu_data_unregister(whole);
    starpu_data_unregister(work.other);
}

TEST_CASE("data whose rows or planes overlap, or that no memory can hold, end the load with a sentence") {
    using Make = starpu_data_handle_t (*)(apportion_block*, double*);
    static constexpr std::size_t kMost = 4294967295;
    static constexpr const char *kOverlap = "a row has more elements than there are to the next",
                                *kHuge = "more bytes than memory has addresses";
    const std::pair<Make, const char*> makes[] = {
        {[](auto b, auto y) { return apportion_block_matrix(b, STARPU_RW, y, 1, 2, b->units, 8); }, kOverlap},
        {[](auto b, auto y) { return apportion_block_volume(b, STARPU_RW, y, 1, 4, 2, 2, b->units, 8); }, kOverlap},
        {[](auto b, auto y) { return apportion_block_volume(b, STARPU_RW, y, 2, 3, 2, 2, b->units, 8); }, kOverlap},
        {[](auto b, auto y) { return apportion_block_volume(b, STARPU_RW, y, 0, 0, 0, 1, b->units, 8); }, kOverlap},
        {[](auto b, auto y) { return apportion_block_vector(b, STARPU_RW, y, b->units, SIZE_MAX); }, kHuge},
        {[](auto b, auto y) { return apportion_block_matrix(b, STARPU_RW, y, kMost, kMost, kMost, 8); }, kHuge},
        {[](auto b, auto y) { return apportion_block_volume(b, STARPU_RW, y, 1, kMost, 1, kMost, kMost, 8); }, kHuge}};
    static Make make;
    for (const auto& [each, words] : makes) {
        make = each;
        Axpy axpy(5000);
        auto options = axpy.options();
        options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
            Axpy::fill(task, block, arg);
            task->handles[1] = make(block, static_cast<Axpy*>(arg)->y.data());
            return 0;
        };
        Load load = create(options);
        REQUIRE(run(load.get()) == -EINVAL);
        CHECK(std::string(apportion_error()).find(words) != std::string::npos);
    }
}

namespace {

/// Writes a matrix of 5 rows and 100 columns: a unit is a column, of which a block writes `more` than its own.
struct Columns {
    std::vector<float> matrix = std::vector<float>(500);
    std::size_t more = 0;
    bool whole = false, forgets = false;
    starpu_codelet codelet = make_codelet([](void**, void*) {}, {STARPU_RW}, "columns");
    apportion::LoadOptions options{"columns", 100, codelet, fill, this};

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Columns*>(arg);
        if (self.forgets) apportion_block_vector(block, STARPU_W, &self.matrix[block->first], block->units, 1);
        const std::size_t columns = std::min<std::size_t>(100 - block->first, block->units + self.more);
        task->handles[0] = self.whole ? apportion_block_vector(block, STARPU_RW, self.matrix.data(), 500, sizeof(float))
                                      : apportion_block_matrix(block, STARPU_RW, &self.matrix[block->first], 100,
                                                               columns, 5, sizeof(float));
        return 0;
    }
};

}  // namespace

TEST_CASE("blocks that write the same memory end the load with a sentence, interleaved columns do not") {
    Columns columns;
    // Each a load of its own: in another run of one, all units may be for one worker.
    CHECK(run(create(columns.options).get()) == 0);
    columns.more = 1;
    CHECK(run(create(columns.options).get()) == -EINVAL);
    CHECK_THAT(apportion_error(), ContainsSubstring("write memory that units") && ContainsSubstring("write as well"));
    columns.whole = true;
    const Load load = create(columns.options);
    CHECK(run(load.get()) == -EINVAL);
    columns.more = 0, columns.whole = false;
    CHECK(run(load.get()) == 0);
}

TEST_CASE("a handle for results that no task has ends the load with a sentence") {
    Columns columns;
    columns.forgets = true;
    const Load load = create(columns.options);
    CHECK(run(load.get()) == -EINVAL);
    CHECK_THAT(apportion_error(), ContainsSubstring("no task has a handle that the fill function made for results"));
}

TEST_CASE("a sum to which no other block adds ends the load with a sentence") {
    Columns columns;
    columns.codelet.modes[0] = STARPU_REDUX;
    CHECK(run(create(columns.options).get()) == -EINVAL);
    CHECK_THAT(apportion_error(), ContainsSubstring("name the handle to which all blocks add"));
}
