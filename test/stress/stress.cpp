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
// In every third round two cores are one processor.
#include <starpu.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/stress/drawing.hpp"
#include "test/stress/ordinary_tasks.hpp"
#include "test/stress/stress_load.hpp"

using namespace apportion::test;

namespace {

void round_of(std::uint64_t seed) {
    Random random(seed);
    const bool grouped = seed % 3 == 0;
    if (grouped)
        setenv("APPORTION_GROUPS", "2", 1);
    else
        unsetenv("APPORTION_GROUPS");
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
            loads.back()->grouped = grouped;
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
    const auto write = [out](const char* name, unsigned slowness) {
        for (const int units : {1, 10, 100, 1000, 10000, 50000})
            std::fprintf(out, "\"%s\",%d,%g\n", name, units, 1e-5 * slowness * (1 + units));
    };
    for (unsigned worker = 0; worker < starpu_worker_get_count(); ++worker) {
        char name[256];
        starpu_worker_get_name(static_cast<int>(worker), name, sizeof name);
        write(name, worker + 1);
    }
    for (unsigned core = 0; core < starpu_cpu_worker_get_count(); core += 2)  // where they are grouped
        write(("CPU " + std::to_string(core) + "-" + std::to_string(core + 1)).c_str(), core + 1);
    std::fclose(out);
    setenv("APPORTION_PROFILES", file.c_str(), 1);
    setenv("APPORTION_LEARN", "0", 1);
}

}  // namespace

int main(int argc, char** argv) {
    std::optional<double> seconds;
    std::uint64_t seed = 1, rounds = 0;
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
    if (rounds == 0) {
        rounds = ~std::uint64_t{0};
        if (!seconds) seconds = 10;
    }
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t done = 0;
    for (; done < rounds && !failed; ++done) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        if (seconds && passed.count() > *seconds) break;
        std::printf("seed %llu\n", static_cast<unsigned long long>(seed + done));
        std::fflush(stdout);
        round_of(seed + done);
    }
    std::printf("%llu rounds, %s\n", static_cast<unsigned long long>(done), failed ? "WRONG" : "all right");
    apportion_shutdown();
    std::remove(profile.c_str());
    return failed ? 1 : 0;
}
