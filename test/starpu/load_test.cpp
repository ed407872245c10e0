// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Loads inside StarPU, under whichever scheduler STARPU_SCHED names: the laws hold under all of them.
// One file of a little over 400 lines, because all cases share one load, y += a x + 1.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"

namespace {

using Vector = std::vector<double>;

// y += a * x + 1, so that a unit computed twice or never shows.
struct Axpy {
    Vector x, y;
    double a = 2;
    unsigned parts = 1;
    bool forgets = false;  ///< fill sets the first handle only
    int refuse_from = -1;  ///< fill refuses blocks that begin at or behind this unit
    int modes = 0;         ///< or'ed to the access modes, e.g. APPORTION_KEEP

    explicit Axpy(std::size_t n) : x(n), y(n, 0.0) { std::iota(x.begin(), x.end(), 0.0); }

    static void cpu(void* buffers[], void* arg) {
        const double a = *static_cast<double*>(arg);
        const auto* x = reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        auto* y = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1]));
        for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) y[i] += a * x[i] + 1;
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Axpy*>(arg);
        if (self.refuse_from >= 0 && static_cast<int>(block->first) >= self.refuse_from) return -EPERM;
        // Parts: each task takes its slice of the block.
        const std::uint64_t begin = block->first + block->units * block->part / self.parts;
        const std::uint64_t end = block->first + block->units * (block->part + 1) / self.parts;
        if (begin == end) {
            task->where = STARPU_NOWHERE;
            task->nbuffers = 0;
        }
        const std::uint64_t count = std::max<std::uint64_t>(1, end - begin);
        const std::uint64_t at = std::min(begin, block->first + block->units - 1);
        task->handles[0] = apportion_block_vector(block, STARPU_R | self.modes, &self.x[at], count, sizeof(double));
        if (self.forgets) return 0;
        task->handles[1] = apportion_block_vector(block, STARPU_RW | self.modes, &self.y[at], count, sizeof(double));
        task->cl_arg = &self.a;
        task->cl_arg_size = sizeof self.a;
        return 0;
    }

    static starpu_codelet& codelet() {
        static starpu_codelet cl = [] {
            starpu_codelet c;
            starpu_codelet_init(&c);
            c.cpu_funcs[0] = cpu;
            c.nbuffers = 2;
            c.modes[0] = STARPU_R;
            c.modes[1] = STARPU_RW;
            c.name = "axpy";
            return c;
        }();
        return cl;
    }

    apportion_load_options options() {
        apportion::LoadOptions o("axpy", x.size(), codelet(), fill, this);
        o.parts = parts;
        return o;
    }

    int wrong(double times = 1) const {
        int count = 0;
        for (std::size_t i = 0; i < x.size(); ++i) count += y[i] != times * (a * x[i] + 1);
        return count;
    }
};

struct Destroy {
    void operator()(apportion_load* load) const { apportion_load_destroy(load); }
};
using Load = std::unique_ptr<apportion_load, Destroy>;

Load create(const apportion_load_options& options) {
    Load load(apportion_load_create(&options));
    INFO(apportion_error());
    REQUIRE(load);
    return load;
}

int run(apportion_load* load) {
    const int submitted = apportion_load_submit(load);
    return submitted ? submitted : apportion_load_wait(load);
}

}  // namespace

TEST_CASE("every unit is computed exactly once, whatever the size and the granularity") {
    for (std::size_t units : {0, 1, 3, 7, 16, 99, 1000, 100000})
        for (std::uint64_t granularity : {1, 8}) {
            Axpy axpy(units);
            auto options = axpy.options();
            options.granularity = granularity;
            if (granularity > units && units > 0) continue;
            Load load = create(options);
            CAPTURE(units, granularity);
            REQUIRE(run(load.get()) == 0);
            REQUIRE(axpy.wrong() == 0);
        }
}

TEST_CASE("the report counts every unit and names the scheduler that ran") {
    Axpy axpy(5000);
    Load load = create(axpy.options());
    REQUIRE(run(load.get()) == 0);
    auto report = nlohmann::json::parse(apportion_load_report(load.get()));
    std::int64_t units = 0;
    for (auto& processor : report["processors"]) units += processor["units"].get<std::int64_t>();
    REQUIRE(units == 5000);
    REQUIRE(report["policy"] == std::string(apportion_load_policy(load.get())));
    REQUIRE(report["policy"] == std::string(std::getenv("STARPU_SCHED")));
    REQUIRE(report["makespan_seconds"].get<double>() > 0);
    REQUIRE(report["makespan_seconds"].get<double>() == apportion_load_seconds(load.get()));
}

TEST_CASE("a block made of several tasks is complete when all of them are") {
    for (unsigned parts : {2u, 3u}) {
        Axpy axpy(1234);
        axpy.parts = parts;
        Load load = create(axpy.options());
        REQUIRE(run(load.get()) == 0);
        REQUIRE(axpy.wrong() == 0);
    }
}

TEST_CASE("a block may have fewer units than tasks: a task without work is bound to no worker") {
    for (std::size_t units : {1, 2, 5}) {
        Axpy axpy(units);
        axpy.parts = 3;
        auto options = axpy.options();
        options.initial_block = 1;
        Load load = create(options);
        REQUIRE(run(load.get()) == 0);
        REQUIRE(axpy.wrong() == 0);
        const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
        for (auto& processor : report["processors"]) CHECK(processor["compute_seconds"].get<double>() >= 0);
    }
}

TEST_CASE("a load can be submitted again and keeps its data right, kept on the device or not") {
    for (int modes : {0, APPORTION_KEEP}) {
        Axpy axpy(3000);
        axpy.modes = modes;
        Load load = create(axpy.options());
        for (int k = 0; k < 5; ++k) REQUIRE(run(load.get()) == 0);
        REQUIRE(apportion_load_release(load.get()) == 0);
        REQUIRE(axpy.wrong(5) == 0);
    }
}

TEST_CASE("submitting a load hundreds of times takes no memory that the first submissions did not") {
    constexpr int kWindows = 16, kSubmissions = 40;  // per window
    for (const int modes : {0, APPORTION_KEEP}) {
        Axpy axpy(500);
        axpy.modes = modes;
        auto options = axpy.options();
        options.initial_block = 100;
        Load load = create(options);
        // The least in use after any submission of a window: how many blocks a run has varies.
        std::vector<double> least;
        for (int window = 0; window < kWindows; ++window) {
            least.push_back(std::numeric_limits<double>::infinity());
            for (int k = 0; k < kSubmissions; ++k) {
                if (run(load.get()) != 0) FAIL(apportion_error());
                least.back() = std::min(least.back(), static_cast<double>(mallinfo2().uordblks));
            }
        }
        // A leak grows in every window; StarPU's caches only in those that see blocks of a new size.
        std::vector<double> growth(least.size());
        std::adjacent_difference(least.begin(), least.end(), growth.begin());
        constexpr double kBytesPerSubmission = 200;
        CHECK(*std::min_element(growth.begin() + 1, growth.end()) < kBytesPerSubmission * kSubmissions);
        REQUIRE(apportion_load_release(load.get()) == 0);
        CHECK(axpy.wrong(kWindows * kSubmissions) == 0);
    }
}

TEST_CASE("a load that still runs cannot be submitted again") {
    Axpy axpy(1000);
    starpu_data_handle_t gate;
    double value = 0;
    starpu_variable_data_register(&gate, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&value), sizeof value);
    apportion_use use{gate, STARPU_RW};
    auto options = axpy.options();
    options.uses = &use;
    options.uses_count = 1;
    Load load = create(options);
    starpu_data_acquire(gate, STARPU_RW);  // holds the load back
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_submit(load.get()) == -EBUSY);
    REQUIRE(std::string(apportion_error()).find("still runs") != std::string::npos);
    starpu_data_release(gate);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
    starpu_data_unregister(gate);
}

namespace {
void set_all(void* buffers[], void* arg) {
    auto* v = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    starpu_sleep(0.02f);
    for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) v[i] = *static_cast<double*>(arg);
}
void sum_all(void* buffers[], void*) {
    auto* v = reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    auto* sum = reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[1]));
    *sum = 0;
    for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) *sum += v[i];
}
starpu_codelet make_codelet(starpu_cpu_func_t function, std::vector<starpu_data_access_mode> modes, const char* name) {
    starpu_codelet c;
    starpu_codelet_init(&c);
    c.cpu_funcs[0] = function;
    c.nbuffers = static_cast<int>(modes.size());
    for (std::size_t k = 0; k < modes.size(); ++k) c.modes[k] = modes[k];
    c.name = name;
    return c;
}
}  // namespace

TEST_CASE("a load takes its place in a task graph: after its producers, before its consumers") {
    static starpu_codelet produce = make_codelet(set_all, {STARPU_W}, "produce");
    static starpu_codelet consume = make_codelet(sum_all, {STARPU_R, STARPU_W}, "consume");
    constexpr std::size_t n = 2000;
    Axpy axpy(n);
    double sum = -1, zero = 0;
    starpu_data_handle_t y, total;
    starpu_vector_data_register(&y, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(axpy.y.data()), n, sizeof(double));
    starpu_variable_data_register(&total, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&sum), sizeof sum);
    apportion_use use{y, STARPU_RW};
    auto options = axpy.options();
    options.uses = &use;
    options.uses_count = 1;
    axpy.y.assign(n, 777.0);
    Load load = create(options);
    REQUIRE(starpu_task_insert(&produce, STARPU_W, y, STARPU_VALUE, &zero, sizeof zero, 0) == 0);
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(starpu_task_insert(&consume, STARPU_R, y, STARPU_W, total, 0) == 0);
    starpu_task_wait_for_all();
    REQUIRE(apportion_load_wait(load.get()) == 0);
    starpu_data_unregister(y);
    starpu_data_unregister(total);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += axpy.a * axpy.x[i] + 1;
    REQUIRE(sum == expected);
}

TEST_CASE("a fill function that refuses ends the load with its error and loses nothing else") {
    Axpy axpy(5000);
    axpy.refuse_from = 100;
    Load load = create(axpy.options());
    REQUIRE(run(load.get()) == -EPERM);
    REQUIRE(std::string(apportion_error()).find("refused units") != std::string::npos);
    axpy.refuse_from = -1;
    axpy.y.assign(axpy.y.size(), 0.0);
    REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
}

TEST_CASE("a fill function that forgets a handle ends the load with a sentence") {
    Axpy axpy(5000);
    axpy.forgets = true;
    Load load = create(axpy.options());
    REQUIRE(run(load.get()) == -EINVAL);
    REQUIRE(std::string(apportion_error()).find("did not set all 2 handles") != std::string::npos);
    axpy.forgets = false;
    REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
}

TEST_CASE("a load that was not created is an error, and no crash") {
    REQUIRE(apportion_load_submit(nullptr) == -EINVAL);
    REQUIRE(std::string(apportion_error()).find("apportion_load_submit: the load is NULL") != std::string::npos);
    REQUIRE(apportion_load_wait(nullptr) == -EINVAL);
    REQUIRE(apportion_load_release(nullptr) == -EINVAL);
    REQUIRE(std::string(apportion_load_report(nullptr)) == "{}");
    REQUIRE(apportion_load_seconds(nullptr) == 0);
    REQUIRE(std::string(apportion_load_policy(nullptr)) == "none");
    apportion_load_destroy(nullptr);
}

TEST_CASE("a report that cannot be written is refused before the load runs") {
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
    unsetenv("APPORTION_REPORT");
    axpy.y.assign(axpy.y.size(), 0.0);
    REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
}

TEST_CASE("two loads run at the same time") {
    Axpy one(20000), two(30000);
    Load first = create(one.options());
    Load second = create(two.options());
    REQUIRE(apportion_load_submit(first.get()) == 0);
    REQUIRE(apportion_load_submit(second.get()) == 0);
    REQUIRE(apportion_load_wait(second.get()) == 0);
    REQUIRE(apportion_load_wait(first.get()) == 0);
    REQUIRE(one.wrong() == 0);
    REQUIRE(two.wrong() == 0);
}

TEST_CASE("loads run at the same time in two scheduling contexts") {
    int workers[STARPU_NMAXWORKERS];
    const unsigned count = starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, STARPU_NMAXWORKERS);
    if (count < 2) return;  // one context needs one worker
    const char* scheduler = std::getenv("STARPU_SCHED");
    starpu_sched_policy* policy = starpu_sched_get_sched_policy_in_ctx(0);
    REQUIRE(policy->policy_name == std::string(scheduler));
    unsigned context[2];
    for (int k = 0; k < 2; ++k)
        context[k] =
            starpu_sched_ctx_create(&workers[k], 1, k ? "two" : "one", STARPU_SCHED_CTX_POLICY_STRUCT, policy, 0);
    Axpy one(9000), two(8000);
    auto options_one = one.options(), options_two = two.options();
    options_one.sched_ctx = static_cast<int>(context[0]);
    options_two.sched_ctx = static_cast<int>(context[1]);
    {
        Load first = create(options_one), second = create(options_two);
        REQUIRE(apportion_load_submit(first.get()) == 0);
        REQUIRE(apportion_load_submit(second.get()) == 0);
        REQUIRE(apportion_load_wait(first.get()) == 0);
        REQUIRE(apportion_load_wait(second.get()) == 0);
        auto report = nlohmann::json::parse(apportion_load_report(second.get()));
        REQUIRE(report["processors"].size() == 1);
        REQUIRE(report["policy"] == std::string(scheduler));
    }
    REQUIRE(one.wrong() == 0);
    REQUIRE(two.wrong() == 0);
    for (unsigned c : context) {
        starpu_task_wait_for_all_in_ctx(c);
        starpu_sched_ctx_delete(c);
    }
}

namespace {
std::atomic<int> executed_by[STARPU_NMAXWORKERS];
std::atomic<int> at_gate;
std::atomic<bool> gate_open;

void count_worker(void**, void*) { ++executed_by[starpu_worker_get_id()]; }
void wait_at_gate(void**, void*) {
    ++at_gate;
    while (!gate_open) starpu_sleep(0.001f);
}
// Slow on all workers but the first, so that it computes most blocks.
void favour_first_worker(void* buffers[], void* arg) {
    if (starpu_worker_get_id() != 0) starpu_sleep(0.02f);
    Axpy::cpu(buffers, arg);
}

void submit(starpu_codelet& codelet, int worker = -1) {
    starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    if (worker >= 0) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = static_cast<unsigned>(worker);
    }
    REQUIRE(starpu_task_submit(task) == 0);
}
}  // namespace

TEST_CASE("ordinary tasks without a performance model go to all workers alike, however unequal a load's blocks were") {
    Axpy axpy(20000);
    starpu_codelet uneven = Axpy::codelet();
    uneven.cpu_funcs[0] = favour_first_worker;
    auto options = axpy.options();
    options.codelet = &uneven;
    options.initial_block = 100;
    Load load = create(options);
    REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
    const std::string policy = apportion_load_policy(load.get());
    if (policy == "eager" || policy == "lws" || policy == "dmda") return;  // they share out as they like

    static starpu_codelet gate = make_codelet(wait_at_gate, {}, "gate");
    static starpu_codelet counting = make_codelet(count_worker, {}, "count");
    const int workers = static_cast<int>(starpu_worker_get_count());
    constexpr int kTasksPerWorker = 50;
    at_gate = 0;
    gate_open = false;
    for (int worker = 0; worker < workers; ++worker) submit(gate, worker);
    while (at_gate < workers) starpu_sleep(0.001f);
    for (int k = 0; k < kTasksPerWorker * workers; ++k) submit(counting);
    gate_open = true;
    starpu_task_wait_for_all();
    for (int worker = 0; worker < workers; ++worker) CHECK(executed_by[worker] == kTasksPerWorker);
}

TEST_CASE("options that make no sense are refused with a sentence") {
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
    refused([](auto& o) { o.granularity = 11; }, "larger than the load");
    refused([](auto& o) { o.uses_count = 1; }, "uses is NULL");
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
