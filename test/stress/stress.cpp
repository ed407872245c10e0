// SPDX-License-Identifier: LGPL-2.1-or-later
//
// stress [--seconds S] [--seed N] [--rounds R]: random loads, several at once, under the policy that STARPU_SCHED
// names, on whatever workers StarPU finds; every result is checked. A round is drawn from one seed, which is printed
// before it begins: `--seed N --rounds 1` draws the same round again (the order of threads is the machine's).
//
// A round: one to four loads of random sizes, granularities, parts and data (written, changed in place, kept on
// devices, summed up in a handle of the application), alone, in a task graph or in a scheduling context of its own,
// submitted one to four times; blocks that fail, stall or are late; ordinary tasks beside them. What is checked after
// each submission:
//  - its status: 0, unless a rule of apportion.h says that this cannot be (then the sentence must say why);
//  - every result, and that nothing changes any more after the application has it back;
//  - sums: each unit counted once.
#include <starpu.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "policies/starpu/apportion.hpp"
#if defined STARPU_USE_OPENCL && !defined STARPU_SIMGRID
#include "test/starpu/opencl_work.hpp"
#endif

namespace {

#ifdef STARPU_SIMGRID
constexpr bool kSimulated = true;
#else
constexpr bool kSimulated = false;
#endif

enum class Data { written, in_place, summed };
enum class Trouble { none, fails, stalls, late };

struct Random {
    explicit Random(std::uint64_t seed) : engine(seed) {}
    std::uint64_t below(std::uint64_t n) { return engine() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    double between(double a, double b) { return a + (b - a) * static_cast<double>(below(1 << 20)) / (1 << 20); }

    std::mt19937_64 engine;
};

bool failed = false;

void report(const std::string& what) {
    std::printf("WRONG: %s\n", what.c_str());
    std::fflush(stdout);
    failed = true;
}

/// y = 3 x + 1, or y += 3 x + 1 in place, and perhaps the sum of x.
struct StressLoad {
    // Drawn before it is created.
    std::uint64_t units = 0, granularity = 1, initial = 0;
    unsigned parts = 1;
    Data data = Data::written;
    bool keep = false, graph = false;
    int submissions = 1, context = -1;
    double seconds_per_unit = 0;
    Trouble trouble = Trouble::none;
    int troubled_worker = -1, troubled_block = 0;
    double trouble_s = 0;

    std::vector<double> x, y;
    double sum = 0;
    starpu_data_handle_t sum_handle = nullptr, graph_handle = nullptr;
    std::atomic<int> blocks[STARPU_NMAXWORKERS] = {};
    std::atomic<bool> troubled{false};
    starpu_codelet codelet;
    static inline starpu_perfmodel model{};  ///< StarPU knows it until its end
    apportion_load* load = nullptr;

    struct Argument {
        StressLoad* self;
        std::uint64_t units;
        bool fails = false;
    };

    ~StressLoad() {
        apportion_load_destroy(load);
        if (sum_handle) starpu_data_unregister(sum_handle);
        if (graph_handle) starpu_data_unregister(graph_handle);
    }

    std::string describe() const {
        static const char* const data_names[] = {"written", "in place", "summed"};
        static const char* const trouble_names[] = {"none", "fails", "stalls", "late"};
        char text[256];
        std::snprintf(text, sizeof text,
                      "%llu units by %llu, %u parts, %s%s%s, %d submissions, context %d, trouble: %s of worker %d "
                      "block %d (%.2f s)",
                      static_cast<unsigned long long>(units), static_cast<unsigned long long>(granularity), parts,
                      data_names[static_cast<int>(data)], keep ? ", kept" : "", graph ? ", in a graph" : "",
                      submissions, context, trouble_names[static_cast<int>(trouble)], troubled_worker, troubled_block,
                      trouble_s);
        return text;
    }

    /// On the worker, before it computes. False: the block is not computed.
    bool disturb(Argument& argument) {
        const int worker = starpu_worker_get_id();
        const int block = blocks[worker]++;
        double seconds = seconds_per_unit * static_cast<double>(argument.units);
        if (worker == troubled_worker && block == troubled_block && trouble != Trouble::none) {
            troubled = true;
            if (trouble == Trouble::fails) {
                apportion_block_failed("drawn to fail");
                return false;
            }
            seconds += trouble_s;
        }
        if (seconds > 0) starpu_sleep(static_cast<float>(seconds));
        return true;
    }

    bool compute(Argument& argument, const double* from, double* to, unsigned n) {
        if (!disturb(argument)) return false;
        for (unsigned i = 0; i < n; ++i) {
            // Written in two steps, as BLAS adds up partial sums: who stores late spoils what is there.
            if (data == Data::written) to[i] = -7;
            to[i] = (data == Data::in_place ? to[i] : 0) + 3 * from[i] + 1;
        }
        return true;
    }

    static void on_cpu(void* buffers[], void* arg) {
        auto& argument = *static_cast<Argument*>(arg);
        const auto* from = reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        auto* to = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1]));
        const unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
        if (!argument.self->compute(argument, from, to, n) || argument.self->data != Data::summed) return;
        auto& total = *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[2]));
        for (unsigned i = 0; i < n; ++i) total += from[i];
    }
#if defined STARPU_USE_OPENCL && !defined STARPU_SIMGRID
    static void on_opencl(void* buffers[], void* arg) {
        auto& argument = *static_cast<Argument*>(arg);
        apportion::test::on_opencl_device<double>(buffers, [&](const double* from, double* to, unsigned n) {
            argument.self->compute(argument, from, to, n);
        });
    }
#endif
    static void sum_begins(void* buffers[], void*) {
        *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[0])) = 0;
    }
    static void sum_adds(void* buffers[], void*) {
        *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[0])) +=
            *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[1]));
    }
    static starpu_codelet& sum_codelet(bool adds) {
        static starpu_codelet begin, add;
        static const bool made = [] {
            for (starpu_codelet* c : {&begin, &add}) starpu_codelet_init(c);
            begin.cpu_funcs[0] = sum_begins;
            begin.nbuffers = 1;
            begin.modes[0] = STARPU_W;
            add.cpu_funcs[0] = sum_adds;
            add.nbuffers = 2;
            add.modes[0] = static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
            add.modes[1] = STARPU_R;
            return true;
        }();
        (void)made;
        return adds ? add : begin;
    }

    static double simulated_us(starpu_task* task, unsigned worker, unsigned) {
        auto& argument = *static_cast<Argument*>(task->cl_arg);
        StressLoad& self = *argument.self;
        const double speed = starpu_worker_get_type(static_cast<int>(worker)) == STARPU_CPU_WORKER ? 1 : 20;
        return 1e6 * (1e-6 + self.seconds_per_unit / speed * static_cast<double>(argument.units));
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<StressLoad*>(arg);
        const std::uint64_t first = block->first + block->units * block->part / self.parts;
        const std::uint64_t n = block->first + block->units * (block->part + 1) / self.parts - first;
        const int keep = self.keep ? APPORTION_KEEP : 0;
        const int mode = self.data == Data::in_place ? STARPU_RW : STARPU_W;
        STARPU_TASK_SET_HANDLE(task, apportion_block_vector(block, STARPU_R | keep, &self.x[first], n, sizeof(double)),
                               0);
        STARPU_TASK_SET_HANDLE(task, apportion_block_vector(block, mode | keep, &self.y[first], n, sizeof(double)), 1);
        if (self.data == Data::summed) STARPU_TASK_SET_HANDLE(task, self.sum_handle, 2);
        task->cl_arg = new (std::malloc(sizeof(Argument))) Argument{&self, n};
        task->cl_arg_size = sizeof(Argument);
        task->cl_arg_free = 1;
        return 0;
    }

    /// False: it was refused, as it had to be.
    bool create() {
        x.resize(units + 1);
        y.resize(units + 1);
        for (std::uint64_t i = 0; i < units; ++i) x[i] = static_cast<double>(i % 1000);
        starpu_codelet_init(&codelet);
        codelet.cpu_funcs[0] = on_cpu;
#if defined STARPU_USE_OPENCL && !defined STARPU_SIMGRID
        if (data != Data::summed) codelet.opencl_funcs[0] = on_opencl;
#endif
        codelet.nbuffers = data == Data::summed ? 3 : 2;
        codelet.modes[0] = STARPU_R;
        codelet.modes[1] = data == Data::in_place ? STARPU_RW : STARPU_W;
        codelet.modes[2] = STARPU_REDUX;
        codelet.name = "stress";
        if (kSimulated) {
            if (data != Data::summed) codelet.cuda_funcs[0] = on_cpu;
            model.type = STARPU_PER_WORKER;
            model.symbol = "stress";
            model.worker_cost_function = simulated_us;
            codelet.model = &model;
        }
        apportion::LoadOptions options("stress", units, codelet, fill, this);
        options.granularity = granularity;
        options.initial_block = initial;
        options.parts = parts;
        options.bytes_per_unit = 2 * sizeof(double);
        options.sched_ctx = context;
        options.runs = static_cast<unsigned>(submissions);
        if (data == Data::summed) {
            starpu_variable_data_register(&sum_handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&sum), sizeof sum);
            starpu_data_set_reduction_methods(sum_handle, &sum_codelet(true), &sum_codelet(false));
        }
        apportion_use use{nullptr, STARPU_RW};
        if (graph) {
            starpu_vector_data_register(&graph_handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(y.data()),
                                        units + 1, sizeof(double));
            use.handle = graph_handle;
            options.uses = &use;
            options.uses_count = 1;
        }
        load = apportion_load_create(&options);
        if (!load) report(std::string("not created: ") + apportion_error() + "; " + describe());
        return load != nullptr;
    }

    bool submit(int submission) {
        if (submission == 0 || data != Data::in_place) std::fill(y.begin(), y.end(), 0);
        sum = 0;
        troubled = false;
        for (auto& count : blocks) count = 0;
        const int status = apportion_load_submit(load);
        if (status != 0) report(std::string("not submitted: ") + apportion_error() + "; " + describe());
        return status == 0;
    }

    /// Waits for a submission (from 0 on); false: there can be no further one.
    bool check(int submission) {
        const int status = apportion_load_wait(load);
        const std::string sentence = status == 0 ? "" : apportion_error();
        const std::string_view policy = apportion_load_policy(load);
        const bool starpus = policy == "eager" || policy == "dmda" || policy == "dmdas" || policy == "lws";
        if (status != 0) {
            // What cannot be computed by anybody else, under StarPU's schedulers nothing.
            const bool may_fail = trouble == Trouble::fails && troubled &&
                                  (starpus || parts > 1 || data == Data::summed || starpu_worker_get_count() == 1);
            if (!may_fail) report("status " + std::to_string(status) + ": " + sentence + "; " + describe());
            return false;
        }
        if (keep && apportion_load_release(load) != 0) report("not released: " + describe());
        if (kSimulated) return true;
        const double factor = data == Data::in_place ? submission + 1 : 1;
        std::uint64_t wrong = 0;
        double expected_sum = 0;
        for (std::uint64_t i = 0; i < units; ++i) {
            wrong += y[i] != factor * (3 * x[i] + 1);
            expected_sum += x[i];
        }
        if (wrong > 0)
            report(std::to_string(wrong) + " results of submission " + std::to_string(submission) + "; " + describe() +
                   "; " + apportion_load_report(load));
        if (data == Data::summed && sum != expected_sum)
            report("sum " + std::to_string(sum) + " for " + std::to_string(expected_sum) + "; " + describe());
        return true;
    }
};

void ordinary(void**, void* arg) { starpu_sleep(*static_cast<float*>(arg)); }

/// Tasks that are no part of a load, bound to a worker or not.
void submit_ordinary_tasks(Random& random) {
    static starpu_codelet codelet = [] {
        starpu_codelet c;
        starpu_codelet_init(&c);
        c.cpu_funcs[0] = ordinary;
        c.name = "ordinary";
        return c;
    }();
    static starpu_perfmodel model = [] {
        starpu_perfmodel m{};
        m.type = STARPU_PER_WORKER;
        m.symbol = "ordinary";
        m.worker_cost_function = [](starpu_task* task, unsigned, unsigned) {
            return 1e6 * static_cast<double>(*static_cast<float*>(task->cl_arg));
        };
        return m;
    }();
    if (kSimulated) codelet.model = &model;
    const unsigned cpus = starpu_cpu_worker_get_count();
    for (std::uint64_t k = random.below(6); k > 0; --k) {
        starpu_task* task = starpu_task_create();
        task->cl = &codelet;
        auto* seconds = static_cast<float*>(std::malloc(sizeof(float)));
        *seconds = static_cast<float>(random.between(0, 0.05));
        task->cl_arg = seconds;
        task->cl_arg_size = sizeof *seconds;
        task->cl_arg_free = 1;
        if (random.one_in(2) && cpus > 0) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = static_cast<unsigned>(
                starpu_worker_get_by_type(STARPU_CPU_WORKER, static_cast<int>(random.below(cpus))));
        }
        if (starpu_task_submit(task) != 0) report("an ordinary task was refused");
    }
}

void draw(StressLoad& l, Random& random, int context) {
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

void round_of(std::uint64_t seed) {
    Random random(seed);
    std::vector<unsigned> contexts;
    if (!kSimulated && random.one_in(5)) {
        const char* const policy = std::getenv("STARPU_SCHED") ? std::getenv("STARPU_SCHED") : "eager";
        int workers[STARPU_NMAXWORKERS];
        const unsigned count = starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, STARPU_NMAXWORKERS);
        contexts.push_back(starpu_sched_ctx_create(workers, static_cast<int>(count), "stress",
                                                   STARPU_SCHED_CTX_POLICY_NAME, policy, 0));
    }
    {
        std::vector<std::unique_ptr<StressLoad>> loads;
        for (std::uint64_t k = 1 + random.below(4); k > 0; --k) {
            loads.push_back(std::make_unique<StressLoad>());
            draw(*loads.back(), random, contexts.empty() || random.one_in(2) ? -1 : static_cast<int>(contexts[0]));
            if (!loads.back()->create()) loads.pop_back();
        }
        const bool at_once = random.one_in(2);
        std::vector<bool> ended(loads.size(), false);
        for (int submission = 0; submission < 4; ++submission) {
            submit_ordinary_tasks(random);
            for (std::size_t k = 0; k < loads.size(); ++k) {
                if (ended[k] || submission >= loads[k]->submissions) continue;
                ended[k] = !loads[k]->submit(submission);
                if (!at_once && !ended[k]) ended[k] = !loads[k]->check(submission);
            }
            for (std::size_t k = 0; at_once && k < loads.size(); ++k)
                if (!ended[k] && submission < loads[k]->submissions) ended[k] = !loads[k]->check(submission);
        }
        starpu_task_wait_for_all();
    }
    for (const unsigned context : contexts) starpu_sched_ctx_delete(context);
}

/// Wrong times of all workers for all sizes, for the policies that plan from a profile: right results must not depend
/// on them.
void write_profile(const std::string& file) {
    std::FILE* out = std::fopen(file.c_str(), "w");
    if (!out) return;
    std::fprintf(out, "# load: stress\n");
    std::fprintf(out, "processor,units,seconds\n");
    for (unsigned worker = 0; worker < starpu_worker_get_count(); ++worker) {
        char name[256];
        starpu_worker_get_name(static_cast<int>(worker), name, sizeof name);
        for (const int units : {1, 10, 100, 1000, 10000, 50000})
            std::fprintf(out, "\"%s\",%d,%g\n", name, units, 1e-5 * (worker + 1) * (1 + units));
    }
    std::fclose(out);
    setenv("APPORTION_PROFILES", file.c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
    double seconds = 10;
    std::uint64_t seed = 1, rounds = ~std::uint64_t{0};
    for (int k = 1; k + 1 < argc; k += 2) {
        const std::string_view option = argv[k];
        if (option == "--seconds")
            seconds = std::atof(argv[k + 1]);
        else if (option == "--seed")
            seed = std::strtoull(argv[k + 1], nullptr, 10);
        else if (option == "--rounds")
            rounds = std::strtoull(argv[k + 1], nullptr, 10);
        else {
            std::fprintf(stderr, "usage: stress [--seconds S] [--seed N] [--rounds R]\n");
            return 2;
        }
    }
    if (apportion_init(nullptr) != 0) {
        std::fprintf(stderr, "stress: %s\n", apportion_error());
        return 2;
    }
    const char* const temporary = std::getenv("TMPDIR");
    const std::string profile =
        std::string(temporary ? temporary : "/tmp") + "/stress-" + std::to_string(getpid()) + ".csv";
    write_profile(profile);
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t done = 0;
    for (; done < rounds && !failed; ++done) {
        if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) break;
        std::printf("seed %llu\n", static_cast<unsigned long long>(seed + done));
        std::fflush(stdout);
        round_of(seed + done);
    }
    std::printf("%llu rounds, %s\n", static_cast<unsigned long long>(done), failed ? "WRONG" : "all right");
    apportion_shutdown();
    std::remove(profile.c_str());
    return failed ? 1 : 0;
}
