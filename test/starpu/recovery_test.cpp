// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Processors that fail, stall or change their speed, under whichever of Apportion's policies STARPU_SCHED names: every
// unit is computed and counted exactly once, and the report tells what happened. [silent]: takes as long as the
// watchdog waits at least, several times; when a block is given up is no matter of the policy. [late]: the others have
// nothing left to do meanwhile, as under acosta they have. One file, because all cases share the sabotaged codelet.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/starpu/apportion.h"
#include "test/catch.hpp"

namespace {

constexpr int kUnits = 3000;
constexpr double kSecondsPerUnit = 2e-5;

struct Sabotage {
    int worker = -1;  ///< -1: none; kAll: every one
    int block = 0;    ///< which of its blocks of a submission, from 0 on
    static constexpr int kAll = -2;

    bool hits(int w, int b) const { return (worker == kAll || worker == w) && b == block; }
};

/// y = 3 x + 1, or y += 3 x + 1 in place; counts how often the codelet computed each unit.
struct Work {
    std::vector<double> x = std::vector<double>(kUnits), y = std::vector<double>(kUnits);
    std::vector<std::atomic<int>> computed = std::vector<std::atomic<int>>(kUnits);
    std::atomic<int> blocks[STARPU_NMAXWORKERS] = {};
    Sabotage fails, stalls;
    int failing_part = 0;
    bool fails_in_epilogue = false;
    double stall_s = 0;
    std::atomic<int> refused = 0;  ///< calls of apportion_block_failed that were
    std::atomic<int> stalled = 0;  ///< tasks that stall now
    double slowdown_of_0 = 1;
    unsigned parts = 1;

    struct Part {
        Work* work;
        std::uint64_t first;
        unsigned part;
        bool failed = false;
    };

    Work() {
        for (int i = 0; i < kUnits; ++i) x[i] = i;
    }

    // A stalled task of a lost worker writes its results, the same ones, while others read them.
    static void store(double& y, double value) { std::atomic_ref(y).store(value); }

    static void compute(void* buffers[], void* arg) {
        auto& part = *static_cast<Part*>(arg);
        Work& work = *part.work;
        const int worker = starpu_worker_get_id();
        const int block = work.blocks[worker];
        if (part.part + 1 == work.parts) ++work.blocks[worker];
        if (work.fails.hits(worker, block) && static_cast<int>(part.part) == work.failing_part) {
            part.failed = true;
            if (!work.fails_in_epilogue) work.refused += apportion_block_failed("the device is on fire") != 0;
            return;
        }
        const bool stalls = work.stalls.hits(worker, block);
        if (stalls) {
            ++work.stalled;
            starpu_sleep(static_cast<float>(work.stall_s));
        }
        const auto* x = reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        auto* y = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1]));
        const unsigned units = STARPU_VECTOR_GET_NX(buffers[0]);
        const bool in_place = starpu_task_get_current()->cl == &codelet(true);
        starpu_sleep(static_cast<float>(kSecondsPerUnit * units * (worker == 0 ? work.slowdown_of_0 : 1)));
        for (unsigned i = 0; i < units; ++i) {
            store(y[i], (in_place ? y[i] : 0) + 3 * x[i] + 1);
            ++work.computed[part.first + i];
        }
        if (stalls) --work.stalled;
    }

    static void epilogue(void* arg) {
        const auto& part = *static_cast<Part*>(arg);
        if (part.failed && part.work->fails_in_epilogue) part.work->refused += apportion_block_failed(nullptr) != 0;
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Work*>(arg);
        const std::uint64_t first = block->first + block->units * block->part / self.parts;
        const std::uint64_t end = block->first + block->units * (block->part + 1) / self.parts;
        task->handles[0] = apportion_block_vector(block, STARPU_R, &self.x[first], end - first, sizeof(double));
        task->handles[1] = apportion_block_vector(block, STARPU_W, &self.y[first], end - first, sizeof(double));
        task->cl_arg = new Part{&self, first, block->part};
        task->epilogue_callback_func = epilogue;
        task->epilogue_callback_arg = task->cl_arg;
        self.arguments.emplace_back(static_cast<Part*>(task->cl_arg));
        return 0;
    }
    std::vector<std::unique_ptr<Part>> arguments;  ///< fill is never called twice at once

    static starpu_codelet make_codelet(starpu_data_access_mode mode) {
        starpu_codelet c;
        starpu_codelet_init(&c);
        c.cpu_funcs[0] = compute;
        c.nbuffers = 2;
        c.modes[0] = STARPU_R;
        c.modes[1] = mode;
        c.name = mode == STARPU_W ? "write" : "in_place";
        return c;
    }
    static starpu_codelet& codelet(bool in_place) {
        static starpu_codelet write = make_codelet(STARPU_W), change = make_codelet(STARPU_RW);
        return in_place ? change : write;
    }

    apportion_load_options options(bool in_place = false) {
        apportion_load_options o = APPORTION_LOAD_OPTIONS("work", kUnits, &codelet(in_place), fill, this);
        o.parts = parts;
        o.granularity = parts;
        return o;
    }

    void forget_results() {
        for (double& value : y) store(value, 0);
        for (auto& count : computed) count = 0;
        for (auto& count : blocks) count = 0;
    }
    int wrong() {
        int count = 0;
        for (int i = 0; i < kUnits; ++i) count += std::atomic_ref(y[i]).load() != 3.0 * i + 1;
        return count;
    }
    bool computed_once() const {
        return std::all_of(computed.begin(), computed.end(), [](const auto& count) { return count == 1; });
    }
};

struct Destroy {
    void operator()(apportion_load* load) const { apportion_load_destroy(load); }
};
using Load = std::unique_ptr<apportion_load, Destroy>;
using Json = nlohmann::json;

Load create(const apportion_load_options& options) {
    Load load(apportion_load_create(&options));
    INFO(apportion_error());
    REQUIRE(load);
    return load;
}

int run(Work& work, apportion_load* load) {
    work.forget_results();
    const int submitted = apportion_load_submit(load);
    return submitted ? submitted : apportion_load_wait(load);
}

/// The report of the last run, after checking that its blocks that count contain every unit once.
Json checked_report(apportion_load* load) {
    Json report = Json::parse(apportion_load_report(load));
    std::vector<int> count(kUnits);
    std::int64_t units = 0, given_back = 0, lost_units = 0;
    for (const Json& block : report.at("trace")) {
        if (block.at("given_back")) {
            given_back += block.at("units").get<std::int64_t>();
            continue;
        }
        for (std::int64_t i = 0; i < block.at("units"); ++i) ++count[block.at("first").get<std::int64_t>() + i];
    }
    CHECK(std::count(count.begin(), count.end(), 1) == kUnits);
    for (const Json& processor : report.at("processors")) units += processor.at("units").get<std::int64_t>();
    for (const Json& lost : report.at("lost_processors")) lost_units += lost.at("units_given_back").get<std::int64_t>();
    CHECK(units == kUnits);
    CHECK(lost_units == given_back);
    return report;
}

/// The single loss of a report.
Json only_loss(const Json& report) {
    REQUIRE(report.at("lost_processors").size() == 1);
    return report.at("lost_processors")[0];
}

bool contains(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

const bool traced = setenv("APPORTION_TRACE", "1", 1) == 0;

}  // namespace

TEST_CASE("units of a worker whose codelet fails are computed by others, exactly once") {
    REQUIRE(traced);
    for (const bool in_place : {false, true})
        for (const bool in_epilogue : {false, true}) {
            Work work;
            work.fails = {.worker = 1};
            work.fails_in_epilogue = in_epilogue;
            Load load = create(work.options(in_place));
            REQUIRE(run(work, load.get()) == 0);
            CHECK(work.refused == 0);
            CHECK(work.wrong() == 0);
            CHECK(work.computed_once());
            const Json report = checked_report(load.get());
            const Json lost = only_loss(report);
            CHECK(lost.at("processor") == 1);
            CHECK(lost.at("units_given_back").get<int>() > 0);
            CHECK(lost.at("at_seconds").get<double>() > 0);
            CHECK(contains(lost.at("reason"), in_epilogue ? "gave no reason" : "the device is on fire"));
            CHECK(report.at("processors")[1].at("units") == 0);
        }
}

TEST_CASE("a worker that fails later keeps what it computed, and is welcome again at the next submission") {
    Work work;
    work.fails = {.worker = 1, .block = 1};
    auto options = work.options();
    options.initial_block = 40;
    Load load = create(options);
    REQUIRE(run(work, load.get()) == 0);  // equal gives it one block only
    CHECK(work.wrong() == 0);
    CHECK(work.computed_once());
    CHECK(checked_report(load.get()).at("processors")[1].at("units") > 0);
    work.fails = {};
    REQUIRE(run(work, load.get()) == 0);
    const Json report = checked_report(load.get());
    CHECK(report.at("lost_processors").empty());
    CHECK(report.at("processors")[1].at("units") > 0);
}

TEST_CASE("a block of several tasks is computed again as a whole when one of them fails") {
    for (const int part : {0, 1, 2}) {
        Work work;
        work.parts = 3;
        work.fails = {.worker = 0};
        work.failing_part = part;
        Load load = create(work.options());
        REQUIRE(run(work, load.get()) == 0);
        CHECK(work.wrong() == 0);
        CHECK(only_loss(checked_report(load.get())).at("processor") == 0);
    }
}

TEST_CASE("a block that other tasks changed in place before one failed ends the load with a sentence") {
    Work work;
    work.parts = 2;
    work.fails = {.worker = 0};
    work.failing_part = 1;
    Load load = create(work.options(true));
    CHECK(run(work, load.get()) == -EIO);
    CHECK(contains(apportion_error(), "changed their data in place"));
    work.fails = {};
    CHECK(run(work, load.get()) == 0);
    CHECK(work.wrong() == 0);
}

TEST_CASE("when every worker has failed, the load ends with a sentence that names them") {
    Work work;
    work.fails.worker = Sabotage::kAll;
    Load load = create(work.options());
    CHECK(run(work, load.get()) == -ENODEV);
    CHECK(contains(apportion_error(), "no processor is left"));
    CHECK(contains(apportion_error(), "the device is on fire"));
    CHECK(Json::parse(apportion_load_report(load.get())).at("error") == std::string(apportion_error()));
    work.fails = {};
    REQUIRE(run(work, load.get()) == 0);
    CHECK(work.wrong() == 0);
    CHECK(work.computed_once());
}

TEST_CASE("only a codelet can say that its block failed") {
    CHECK(apportion_block_failed("nonsense") == -EPERM);
    CHECK(contains(apportion_error(), "runs no block"));
}

namespace {

constexpr int kMostRuns = 10;

/// Runs until nobody was late and worker 1 had its share: a busy machine can keep a thread waiting for long.
void run_undisturbed(Work& work, apportion_load* load) {
    Json report;
    for (int k = 0; k < kMostRuns; ++k) {
        REQUIRE(run(work, load) == 0);
        CHECK(work.wrong() == 0);
        report = checked_report(load);
        if (report.at("lost_processors").empty() && report.at("processors")[1].at("units") > 0) return;
    }
    FAIL(report.dump());
}

/// A load that takes workers for lost early, however slow the first blocks are on a busy machine.
Load create_impatient(const apportion_load_options& options) {
    setenv("APPORTION_STALL_FACTOR", "2", 1);
    Load load = create(options);
    unsetenv("APPORTION_STALL_FACTOR");
    return load;
}

}  // namespace

TEST_CASE("a worker that stalls is lost, and nobody waits for it but the next submission and the load's end",
          "[silent]") {
    Work work;
    {
        Load load = create_impatient(work.options());
        REQUIRE(run(work, load.get()) == 0);  // teaches how long blocks take
        CHECK(checked_report(load.get()).at("lost_processors").empty());

        work.stalls = {.worker = 1};
        work.stall_s = 5;
        REQUIRE(run(work, load.get()) == 0);
        CHECK(work.stalled == 1);
        CHECK(work.wrong() == 0);
        const Json lost = only_loss(checked_report(load.get()));
        CHECK(lost.at("processor") == 1);
        CHECK(lost.at("units_given_back").get<int>() > 0);
        CHECK(contains(lost.at("reason"), "not finished after"));

        CHECK(apportion_load_submit(load.get()) == -EBUSY);
        CHECK(contains(apportion_error(), "of an earlier submission"));
        while (work.stalled > 0) starpu_sleep(0.05f);
        starpu_sleep(0.2f);
        CHECK(work.wrong() == 0);
        REQUIRE(run(work, load.get()) == 0);  // welcome again, and it stalls again
        CHECK(only_loss(checked_report(load.get())).at("processor") == 1);
        CHECK(work.wrong() == 0);
    }
    CHECK(work.stalled == 0);
}

TEST_CASE("others compute what a worker is late with where results stay, and the next submission waits for it",
          "[late]") {
    Work work;
    auto options = work.options();
    options.results_stay = 1;
    Load load = create(options);
    run_undisturbed(work, load.get());
    work.stalls = {.worker = 1};
    work.stall_s = 3;
    for (int k = 0; work.stalled == 0 && k < kMostRuns; ++k) REQUIRE(run(work, load.get()) == 0);
    CHECK(work.stalled == 1);
    CHECK(work.wrong() == 0);
    CHECK(only_loss(checked_report(load.get())).at("processor") == 1);
    work.stalls = {};
    int status = apportion_load_submit(load.get());
    for (; status == -EBUSY; status = apportion_load_submit(load.get())) starpu_sleep(0.1f);
    REQUIRE(status == 0);
    CHECK(work.stalled == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    CHECK(work.wrong() == 0);
    run_undisturbed(work, load.get());
}

TEST_CASE("a task of a lost worker that had not begun is skipped", "[silent]") {
    Work work;
    work.parts = 3;
    {
        Load load = create_impatient(work.options());
        REQUIRE(run(work, load.get()) == 0);
        work.stalls = {.worker = 1};
        work.stall_s = 5;
        REQUIRE(run(work, load.get()) == 0);
        CHECK(only_loss(checked_report(load.get())).at("processor") == 1);
        CHECK(work.wrong() == 0);
    }
    // The first task of the block came to its end and computed its units a second time; the others did nothing.
    const auto twice = std::count_if(work.computed.begin(), work.computed.end(), [](auto& c) { return c == 2; });
    CHECK(twice > 0);
    CHECK(twice < kUnits / 2);
    CHECK(work.blocks[1] == 0);
}

TEST_CASE("a stalled worker that changes data in place ends the load with a sentence, or is waited for", "[silent]") {
    Work work;
    Load load = create_impatient(work.options(true));
    REQUIRE(run(work, load.get()) == 0);
    work.stalls = {.worker = 1};
    work.stall_s = 2;
    REQUIRE(run(work, load.get()) == 0);  // overdue, not silent
    CHECK(work.wrong() == 0);
    CHECK(work.computed_once());
    CHECK(checked_report(load.get()).at("lost_processors").empty());

    work.stall_s = 5;
    CHECK(run(work, load.get()) == -ETIMEDOUT);
    CHECK(contains(apportion_error(), "changes data in place"));
    CHECK(work.stalled == 1);
}

TEST_CASE("with APPORTION_STALL_FACTOR=0 every worker is waited for", "[silent]") {
    setenv("APPORTION_STALL_FACTOR", "0", 1);
    Work work;
    auto options = work.options();
    options.results_stay = 1;  // otherwise others would compute what it is late with
    Load load = create(options);
    unsetenv("APPORTION_STALL_FACTOR");
    REQUIRE(run(work, load.get()) == 0);
    work.stalls = {.worker = 1};
    work.stall_s = 2;
    REQUIRE(run(work, load.get()) == 0);
    CHECK(work.stalled == 0);
    CHECK(work.computed_once());
    CHECK(checked_report(load.get()).at("lost_processors").empty());
}

TEST_CASE("a worker that becomes ten times slower loses nothing") {
    Work work;
    auto options = work.options();
    options.initial_block = 20;
    Load load = create(options);
    REQUIRE(run(work, load.get()) == 0);
    work.slowdown_of_0 = 10;
    for (int k = 0; k < 3; ++k) {
        REQUIRE(run(work, load.get()) == 0);
        CHECK(work.wrong() == 0);
        CHECK(work.computed_once());
        CHECK(checked_report(load.get()).at("lost_processors").empty());
    }
}
