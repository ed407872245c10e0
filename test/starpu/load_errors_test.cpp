// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a load refuses, and that it is as good as new after an error.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

#include "policies/starpu/apportion.h"
#include "test/catch.hpp"
#include "test/folder.hpp"
#include "test/starpu/axpy.hpp"

using namespace apportion::test;

TEST_CASE("a load that still runs cannot be submitted again") {
    Axpy axpy(1000);
    Gate gate;
    auto options = axpy.options();
    options.uses = &gate.use;
    options.uses_count = 1;
    Load load = create(options);
    starpu_data_acquire(gate.use.handle, STARPU_RW);  // holds the load back
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_submit(load.get()) == -EBUSY);
    REQUIRE(std::string(apportion_error()).find("still runs") != std::string::npos);
    starpu_data_release(gate.use.handle);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
}

TEST_CASE("a worker that has to compute a load's blocks cannot wait for it") {
    Axpy axpy(1000);
    Gate gate;
    auto options = axpy.options();
    options.uses = &gate.use;
    options.uses_count = 1;
    struct Waiting {
        Load load;
        int submitted = -1, waited = 0, released = 0;
    } waiting{create(options)};
    starpu_data_acquire(gate.use.handle, STARPU_RW);  // else the other worker may have computed it all meanwhile
    on_worker([&] {
        waiting.submitted = apportion_load_submit(waiting.load.get());
        waiting.waited = apportion_load_wait(waiting.load.get());
        waiting.released = apportion_load_release(waiting.load.get());
    });
    starpu_data_release(gate.use.handle);
    CHECK(waiting.submitted == 0);
    CHECK(waiting.waited == -EDEADLK);
    CHECK(waiting.released == -EDEADLK);
    REQUIRE(apportion_load_wait(waiting.load.get()) == 0);
    CHECK(axpy.wrong() == 0);
}

TEST_CASE("a load that was waited for and has left no handles can be released and destroyed on a worker") {
    Axpy axpy(1000);
    axpy.parts = 2;  // nobody computes a trial for others to take over
    struct Ended {
        apportion_load* load;
        int released = 1;
        std::string error = {};
    } ended{create(axpy.options()).release()};
    REQUIRE(run(ended.load) == 0);
    on_worker([&] {
        ended.released = apportion_load_release(ended.load);
        apportion_load_destroy(ended.load);
        ended.error = apportion_error();
    });
    CHECK(ended.released == 0);
    CHECK(ended.error.find("apportion_load_destroy") == std::string::npos);
    CHECK(axpy.wrong() == 0);
}

TEST_CASE("a fill function may submit another load, and neither of them waits for itself") {
    struct Nested : Axpy {
        Nested() : Axpy(100) {}
        Load inner = nullptr, outer = nullptr;
        Axpy other{100};
        std::atomic<bool> tried{false};  // fill is called again for units that others compute again
        int submitted = 0, refused_outer = 0, refused_inner = 0;
        static int fill_outer(starpu_task* task, apportion_block* block, void* arg) {
            auto& self = *static_cast<Nested*>(arg);
            if (!self.tried.exchange(true)) self.submitted = apportion_load_submit(self.inner.get());
            self.refused_outer += apportion_load_wait(self.outer.get()) == -EDEADLK &&
                                  apportion_load_submit(self.outer.get()) == -EDEADLK &&
                                  apportion_load_release(self.outer.get()) == -EDEADLK &&
                                  apportion_load_add(self.outer.get(), 0, 1) == -EDEADLK &&
                                  apportion_load_close(self.outer.get()) == -EDEADLK;
            return fill(task, block, static_cast<Axpy*>(&self));
        }
        static int fill_inner(starpu_task* task, apportion_block* block, void* arg) {
            auto& self = *static_cast<Nested*>(arg);
            self.refused_inner += apportion_load_wait(self.inner.get()) == -EDEADLK;
            return fill(task, block, static_cast<Axpy*>(&self.other));
        }
    } nested;
    apportion::LoadOptions outer("outer", 100, Axpy::codelet(), Nested::fill_outer, &nested);
    apportion::LoadOptions inner("inner", 100, Axpy::codelet(), Nested::fill_inner, &nested);
    nested.outer = create(outer);
    nested.inner = create(inner);
    REQUIRE(apportion_load_submit(nested.outer.get()) == 0);
    REQUIRE(apportion_load_wait(nested.outer.get()) == 0);
    REQUIRE(apportion_load_wait(nested.inner.get()) == 0);
    CHECK(nested.submitted == 0);
    CHECK(nested.refused_outer >= 1);
    CHECK(nested.refused_inner >= 1);
    CHECK(nested.wrong() == 0);
    CHECK(nested.other.wrong() == 0);
}

TEST_CASE("a fill function that refuses ends the load with its error and loses nothing else") {
    Axpy axpy(5000);
    axpy.refuse_from = 100;
    const apportion::Setting trace("APPORTION_TRACE", "1");
    Load load = create(axpy.options());
    REQUIRE(run(load.get()) == -EPERM);
    REQUIRE(std::string(apportion_error()).find("refused units") != std::string::npos);
    // Nor has anybody what nobody ran.
    const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
    for (const auto& block : report.at("trace")) CHECK(block.at("processor") >= 0);
    axpy.refuse_from = -1;
    axpy.y.assign(axpy.y.size(), 0.0);
    REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
}

TEST_CASE("a fill function that returns no errno value ends the load with a sentence") {
    Axpy axpy(5000);
    auto options = axpy.options();
    options.fill = [](starpu_task*, apportion_block*, void*) { return 5; };
    const Load load = create(options);
    REQUIRE(run(load.get()) == -EINVAL);
    CHECK(std::string(apportion_error()).find("returned 5 for units 0 to") != std::string::npos);
}

TEST_CASE("a fill function that throws ends the load with a sentence, and the load is as good as new") {
    static int thrown;
    Axpy axpy(5000);
    auto options = axpy.options();
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        if (thrown == 1) throw std::runtime_error("no such thing");
        if (thrown == 2) throw 5;
        return Axpy::fill(task, block, arg);
    };
    const Load load = create(options);
    for (thrown = 1; thrown <= 2; ++thrown) {
        CHECK(run(load.get()) == -EIO);
        CHECK_THAT(apportion_error(), ContainsSubstring("fill function threw at units"));
        CHECK((std::string(apportion_error()).find("no such thing") != std::string::npos) == (thrown == 1));
    }
    CHECK(run(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
}

TEST_CASE("a fill function that forgets a handle ends the load with a sentence") {
    for (const std::size_t units : {5000, 1}) {  // of one unit the first parts are without work
        Axpy axpy(units);
        axpy.parts = units == 1 ? 3 : 1;
        axpy.forgets = true;
        Load load = create(axpy.options());
        REQUIRE(run(load.get()) == -EINVAL);
        REQUIRE(std::string(apportion_error()).find("did not set all of the 2 handles") != std::string::npos);
        axpy.forgets = false;
        REQUIRE(run(load.get()) == 0);
        REQUIRE(axpy.wrong() == 0);
    }
}

TEST_CASE("a fill function that names data in another mode than the codelet's ends the load with a sentence") {
    static int mode;
    Axpy axpy(5000);
    auto options = axpy.options();
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Axpy*>(arg);
        task->handles[0] = apportion_block_vector(block, mode, &self.x[block->first], block->units, sizeof(double));
        task->handles[1] = apportion_block_vector(block, mode, &self.y[block->first], block->units, sizeof(double));
        return 0;
    };
    const Load load = create(options);
    for (mode = STARPU_R; mode <= STARPU_RW; ++mode) {
        REQUIRE(run(load.get()) == -EINVAL);
        CHECK_THAT(apportion_error(), ContainsSubstring(mode == STARPU_R ? "names as STARPU_R" : "names as STARPU_W"));
    }
}

TEST_CASE("data at NULL, elements of 0 bytes, and modes that neither read nor write end the load with a sentence") {
    static struct Data {
        int mode;
        std::size_t bytes;
        double* at;
        const char* refused;
    } given;
    double something = 0;
    for (const Data& data : {Data{STARPU_W, sizeof(double), nullptr, "are at NULL; give the address in main memory"},
                             Data{STARPU_W, 0, &something, "its elements have 0 bytes"},
                             Data{STARPU_SCRATCH, sizeof(double), &something, "are given with STARPU_R, STARPU_W or"},
                             Data{STARPU_W | STARPU_REDUX, sizeof(double), &something, "are given with"}}) {
        given = data;
        Axpy axpy(5000);
        auto options = axpy.options();
        options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
            Axpy::fill(task, block, arg);
            task->handles[1] = apportion_block_vector(block, given.mode, given.at, block->units, given.bytes);
            return 0;
        };
        Load load = create(options);
        REQUIRE(run(load.get()) == -EINVAL);
        CHECK_THAT(apportion_error(), ContainsSubstring(data.refused));
    }
}

TEST_CASE("a limit of submitted tasks is refused under every scheduler") {
    Axpy axpy(100);
    const Load load = create(axpy.options());
    setenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS", "9", 1);
    setenv("STARPU_LIMIT_MIN_SUBMITTED_TASKS", "1", 1);
    CHECK(apportion_load_submit(load.get()) == -EINVAL);
    CHECK_THAT(apportion_error(), ContainsSubstring("STARPU_LIMIT_MAX_SUBMITTED_TASKS"));
    unsetenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS");
    unsetenv("STARPU_LIMIT_MIN_SUBMITTED_TASKS");
    CHECK(run(load.get()) == 0);
}

TEST_CASE("a limit of submitted tasks that the program has set does not hold a load up") {
    Axpy axpy(1000);
    const Load load = create(axpy.options());
    starpu_set_limit_min_submitted_tasks(0);
    starpu_set_limit_max_submitted_tasks(0);
    CHECK(run(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
}

TEST_CASE("a load that was not created is an error, and no crash", "[once]") {
    REQUIRE(apportion_load_submit(nullptr) == -EINVAL);
    REQUIRE(std::string(apportion_error()).find("apportion_load_submit: the load is NULL") != std::string::npos);
    REQUIRE(apportion_load_wait(nullptr) == -EINVAL);
    REQUIRE(apportion_load_release(nullptr) == -EINVAL);
    REQUIRE(std::string(apportion_load_report(nullptr)) == "{}");
    REQUIRE(apportion_load_seconds(nullptr) == 0);
    REQUIRE(std::string(apportion_load_policy(nullptr)) == "none");
    REQUIRE(apportion_block_vector(nullptr, STARPU_R, nullptr, 0, 1) == nullptr);
    REQUIRE(std::string(apportion_error()).find("without a block") != std::string::npos);
    apportion_load_destroy(nullptr);
}

TEST_CASE("a report that cannot be written is refused before the load runs", "[once]") {
    Axpy axpy(100);
    Load load = create(axpy.options());
    for (const char* path : {"/no/such/folder/report", "/dev"}) {
        setenv("APPORTION_REPORT", path, 1);
        REQUIRE(apportion_load_submit(load.get()) < 0);
        REQUIRE(std::string(apportion_error()).find("the report cannot be written") != std::string::npos);
        REQUIRE(axpy.wrong() == 100);
    }
    setenv("APPORTION_REPORT", "/dev/full", 1);
    REQUIRE(run(load.get()) == -ENOSPC);
    axpy.refuse_from = 0;
    REQUIRE(run(load.get()) == -EPERM);  // the more important one of two
    axpy.refuse_from = -1;
    REQUIRE(apportion_load_submit(load.get()) == 0);
    int status = -EBUSY;
    while (status == -EBUSY) status = apportion_load_submit(load.get());
    REQUIRE(status == -ENOSPC);  // of the run that is over by then, once
    REQUIRE(apportion_load_wait(load.get()) == 0);
    REQUIRE(run(load.get()) == -ENOSPC);
    unsetenv("APPORTION_REPORT");
    axpy.y.assign(axpy.y.size(), 0.0);
    REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
}

TEST_CASE("a load that is destroyed without a wait says what the wait would have said", "[once]") {
    Axpy axpy(100);
    std::ostringstream said;
    std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
    const auto destroyed = [&](bool waits) {
        said.str("");
        {
            const Load load = create(axpy.options());
            REQUIRE(apportion_load_submit(load.get()) == 0);
            if (waits) REQUIRE(apportion_load_wait(load.get()) < 0);
        }
        return said.str();
    };
    setenv("APPORTION_REPORT", "/dev/full", 1);
    CHECK(destroyed(false) ==
          "apportion_load_destroy without apportion_load_wait: APPORTION_REPORT=/dev/full: the report cannot be "
          "written (No space left on device); make room there, or name a file on another disk\n");
    CHECK(destroyed(true).empty());
    unsetenv("APPORTION_REPORT");
    CHECK(destroyed(false).empty());
    axpy.refuse_from = 0;
    CHECK_THAT(destroyed(false), ContainsSubstring("load 'axpy': the application's fill function refused units"));
    CHECK(destroyed(true).empty());
    std::cerr.rdbuf(before);
}

TEST_CASE("every run's report is appended, also where nobody waits for it", "[once]") {
    const apportion::Folder folder;
    const std::string file = folder.file("reports");
    const apportion::Setting report("APPORTION_REPORT", file);
    const auto lines = [&] {
        std::ifstream stream(file);
        return std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
    };
    const auto submit_and_ask = [](apportion_load* load) {
        REQUIRE(apportion_load_submit(load) == 0);
        while (std::string(apportion_load_report(load)) == "{}") starpu_sleep(1e-3f);
    };
    Axpy axpy(100);
    submit_and_ask(create(axpy.options()).get());  // and destroy
    CHECK(lines() == 1);
    Load load = create(axpy.options());
    submit_and_ask(load.get());
    REQUIRE(apportion_load_submit(load.get()) == 0);
    CHECK(lines() == 2);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    CHECK(lines() == 3);
}

TEST_CASE("a report file that another program keeps locked is an error", "[once]") {
    const apportion::Folder folder;
    const std::string file = folder.file("reports");
    const int other = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
    REQUIRE(flock(other, LOCK_EX) == 0);
    Axpy axpy(100);
    Load load = create(axpy.options());
    const apportion::Setting report("APPORTION_REPORT", file);
    CHECK(run(load.get()) == -EBUSY);
    CHECK_THAT(apportion_error(), ContainsSubstring("another program has locked it"));
    close(other);
    CHECK(run(load.get()) == 0);
}

TEST_CASE("a report for which the disk has no room leaves no half line") {
    const apportion::Folder folder;
    const std::string file = folder.file("reports");
    std::ofstream(file) << "{}\n";
    Axpy axpy(100);
    Load load = create(axpy.options());
    const apportion::Setting report("APPORTION_REPORT", file);
    rlimit limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const rlimit small{20, limit.rlim_max};  // bytes of a file: a part of the line fits
    const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const int status = run(load.get());
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, ignored);
    CHECK(status == -ENOSPC);
    CHECK(std::filesystem::file_size(file) == 3);
}

TEST_CASE("options that make no sense are refused with a sentence", "[once]") {
    Axpy axpy(10);
    auto refused = [&](auto&& change, const std::string& words) {
        auto options = axpy.options();
        change(options);
        REQUIRE(apportion_load_create(&options) == nullptr);
        INFO(apportion_error());
        REQUIRE(std::string(apportion_error()).find(words) != std::string::npos);
    };
    refused([](auto& o) { o.size = 3; }, "options.size");
    refused([](auto& o) { o.codelet = nullptr; }, "codelet is NULL");
    refused([](auto& o) { o.fill = nullptr; }, "fill is NULL");
    refused([](auto& o) { o.units = static_cast<std::uint64_t>(-5); }, "too large");
    refused([](auto& o) { o.granularity = static_cast<std::uint64_t>(-5); }, "too large");
    refused([](auto& o) { o.units = std::uint64_t{1} << 60; }, "would be more than 4194304 blocks");
    refused([](auto& o) { o.uses_count = 1; }, "uses is NULL");
    refused([](auto& o) { o.sched_ctx = -2; }, "options.sched_ctx = -2");
    refused([](auto& o) { o.sched_ctx = STARPU_NMAX_SCHED_CTXS; }, "options.sched_ctx = ");
    refused([](auto& o) { o.sched_ctx = STARPU_NMAX_SCHED_CTXS - 1; }, "does not exist or has no workers");
    static starpu_codelet nobody = [] {
        starpu_codelet c;
        starpu_codelet_init(&c);
        c.cuda_funcs[0] = [](void**, void*) {};
        c.where = STARPU_CUDA;
        c.name = "nobody";
        return c;
    }();
    if (starpu_cuda_worker_get_count() == 0) refused([](auto& o) { o.codelet = &nobody; }, "can run codelet 'nobody'");
}
