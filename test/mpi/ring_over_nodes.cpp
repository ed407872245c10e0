// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A user's iteration on distributed data: each point of a ring becomes the sum of itself, both neighbours and the
// numbers that belong to it (as many as its number modulo 3), modulo a prime. ring_over_nodes UNITS [CASE RANK]: what
// goes wrong, or is slow, on that rank. Status 0 when rank 0's result is right; prints nodes, iterations and how often
// units moved.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/mpi/apportion_mpi.h"
#include "policies/starpu/apportion.hpp"

namespace {

using Number = std::int64_t;
constexpr Number kPrime = 1'000'003;
constexpr int kIterations = 12;

struct Ring {
    std::size_t units = 0;
    std::vector<Number> from, to;  ///< with a copy of the last point before the first one, and of the first behind
    std::vector<Number> own;       ///< numbers of the points
    std::vector<Number> last;      ///< a copy of what the last iteration computed, which no exchange brings
    std::vector<std::int64_t> starts;
    std::string what;
    int rank = -1;  ///< on which that happens
    int iteration = 0;
    bool unable = false;
};

Ring ring;

bool here(const char* what) { return apportion_mpi_rank() == ring.rank && ring.what == what; }

void compute(void* buffers[], void* arg) {
    const bool at_length = here("fails at length");
    if ((here("fails") || at_length) && ring.iteration == 2) {
        apportion_block_failed(("the test wants it" + std::string(at_length ? 2000 : 0, '.')).c_str());
        return;
    }
    if (here("hangs") && ring.iteration == 2) raise(SIGSTOP);
    static std::atomic<bool> hangs_already = false;
    if (here("task hangs") && ring.iteration == 2 && !hangs_already.exchange(true)) pause();
    const std::size_t units = STARPU_VECTOR_GET_NX(buffers[1]);
    const auto* from = reinterpret_cast<const Number*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    auto* to = reinterpret_cast<Number*>(STARPU_VECTOR_GET_PTR(buffers[1]));
    const auto* own = reinterpret_cast<const Number*>(STARPU_VECTOR_GET_PTR(buffers[2]));
    const auto* starts = reinterpret_cast<const std::int64_t*>(STARPU_VECTOR_GET_PTR(buffers[3]));
    if (starts[0] != ring.starts[static_cast<const apportion_block*>(arg)->first]) {
        apportion_block_failed("its argument has other units");
        return;
    }
    auto* last = reinterpret_cast<Number*>(STARPU_VECTOR_GET_PTR(buffers[4]));
    usleep(static_cast<useconds_t>((here("slow") || here("slow once") || here("unable once") ? 1000 : 100) * units));
    for (std::size_t i = 0; i < units; ++i) {
        to[i] = from[i] + from[i + 1] + from[i + 2];
        for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) to[i] += own[k - starts[0]];
        to[i] %= kPrime;
        last[i] = to[i];
    }
}

/// Not when its load is made anew for other units.
int able(unsigned, starpu_task*, unsigned) { return !(here("unable once") && ring.unable); }

int fill(starpu_task* task, apportion_block* block, void*) {
    const std::size_t first = block->first, units = block->units;
    const std::int64_t begin = ring.starts[first], numbers = ring.starts[first + units] - begin;
    task->handles[0] = apportion_block_vector(block, STARPU_R, &ring.from[first], units + 2, sizeof(Number));
    task->handles[1] = apportion_block_vector(block, STARPU_W, &ring.to[first + 1], units, sizeof(Number));
    // Of units without numbers one that is not theirs, as a handle has one at least.
    task->handles[2] =
        apportion_block_vector(block, STARPU_R, &ring.own[static_cast<std::size_t>(begin)],
                               static_cast<std::size_t>(std::max<std::int64_t>(1, numbers)), sizeof(Number));
    task->handles[3] = apportion_block_vector(block, STARPU_R, &ring.starts[first], units + 1, sizeof(std::int64_t));
    task->handles[4] = apportion_block_vector(block, STARPU_W, &ring.last[first], units, sizeof(Number));
    return 0;
}

/// Of as many as there could have been.
int iterations() { return ring.what == "slow once" ? 1 : kIterations; }

/// The same on one thread.
std::vector<Number> reference() {
    std::vector<Number> from(ring.units), to(ring.units);
    for (std::size_t i = 0; i < ring.units; ++i) from[i] = static_cast<Number>(i * i);
    for (int k = 0; k < iterations(); ++k) {
        for (std::size_t i = 0; i < ring.units; ++i) {
            to[i] = from[(i + ring.units - 1) % ring.units] + from[i] + from[(i + 1) % ring.units];
            for (std::int64_t j = ring.starts[i]; j < ring.starts[i + 1]; ++j) to[i] += 7 * j;
            to[i] %= kPrime;
        }
        from.swap(to);
    }
    return from;
}

std::vector<apportion_mpi_distributed> arrays() {
    return {{&ring.from[1], sizeof(Number), nullptr, 1, 1, STARPU_RW},
            {ring.own.data(), sizeof(Number), ring.starts.data(), 0, 0, STARPU_R}};
}

/// The same sentence on all ranks, and in the report.
void look_at_error(apportion_mpi_iteration* iteration) {
    std::string sentence = apportion_mpi_error();
    if (apportion_mpi_rank() == 0 &&
        nlohmann::json::parse(apportion_mpi_iteration_report(iteration)).at("error") != sentence)
        std::fprintf(stderr, "ring_over_nodes: the report has another error\n");
    sentence.resize(4096);
    std::string home = sentence;
    apportion_mpi_share(home.data(), home.size());
    if (home != sentence) std::fprintf(stderr, "ring_over_nodes: rank %d has another sentence\n", apportion_mpi_rank());
}

int complain() {
    if (apportion_mpi_rank() == 0) std::fprintf(stderr, "ring_over_nodes: %s\n", apportion_mpi_error());
    return 2;
}

/// 0: right.
int run(apportion_mpi_iteration* iteration) {
    for (ring.iteration = 0; ring.iteration < iterations(); ++ring.iteration) {
        if (apportion_mpi_iteration_run(iteration) != 0) {
            if (ring.what != "unable once") {
                const int status = complain();
                look_at_error(iteration);
                return status;
            }
            if (apportion_mpi_iteration_run(iteration) != 0) return complain();
            ring.what = "unable no more";
            if (apportion_mpi_rank() == 0) std::puts("a run has failed once");
        }
        for (int again = 0; again < 3 && ring.what == "slow once";
             ++again)  // moves are decided on, and not carried out
            if (apportion_mpi_iteration_run(iteration) != 0) return complain();
        ring.from.swap(ring.to);
        if (here("skips") && ring.iteration == 2) continue;
        const auto all = arrays();
        const unsigned count = ring.what == "one array" ? 1 : 2;
        ring.unable = true;
        if (apportion_mpi_iteration_exchange(iteration, all.data(), count) != 0) return complain();
        ring.unable = false;
        std::uint64_t first = 0, units = 0;
        apportion_mpi_iteration_range(iteration, &first, &units);
        double largest[] = {static_cast<double>(first + units), here("nan") ? NAN : 1.0};
        if (apportion_mpi_largest(largest, 2) != 0) return complain();
        if (largest[0] != static_cast<double>(ring.units) || std::isnan(largest[1]) != (ring.what == "nan"))
            return std::fprintf(stderr, "ring_over_nodes: the largest are %g and %g\n", largest[0], largest[1]), 1;
    }
    const auto all = arrays();
    if (apportion_mpi_iteration_collect(iteration, all.data(), 2) != 0) return complain();
    const apportion_mpi_distributed last{ring.last.data(), sizeof(Number), nullptr, 0, 0, STARPU_RW};
    if (apportion_mpi_iteration_collect(iteration, &last, 1) != 0) return complain();
    if (apportion_mpi_rank() != 0) return 0;
    const std::vector<Number> expected = reference();
    for (std::size_t i = 0; i < ring.units; ++i)
        if (ring.from[i + 1] != expected[i] || ring.last[i] != expected[i])
            return std::fprintf(stderr, "ring_over_nodes: point %zu is wrong\n", i), 1;
    const auto report = nlohmann::json::parse(apportion_mpi_iteration_report(iteration));
    std::size_t units = 0;
    for (const auto& node : report.at("processors")) units += node.at("units").get<std::size_t>();
    if (units != ring.units) return std::fprintf(stderr, "ring_over_nodes: %zu units counted\n", units), 1;
    std::printf("%zu nodes, %zu reports, %d iterations, moved %d times\n", report.at("processors").size(),
                report.at("nodes").size(), iterations(), report.value("rebalances", -1));
    return 0;
}

std::size_t allocated() {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

/// Whether memory does not grow with messages. Status as of run().
int run_on_and_on(apportion_mpi_iteration* iteration) {
    constexpr int kRuns = 100;
    std::size_t before = 0;
    const auto all = arrays();
    for (int k = 0; k < 2 * kRuns; ++k) {
        if (k == kRuns) before = allocated();
        if (apportion_mpi_iteration_run(iteration) != 0) return complain();
        for (int times = 0; times < 2; ++times)
            if (apportion_mpi_iteration_exchange(iteration, all.data(), 2) != 0) return complain();
    }
    const double grown = (static_cast<double>(allocated()) - static_cast<double>(before)) / kRuns;
    if (grown < 250) return 0;
    return std::fprintf(stderr, "ring_over_nodes: each run and two exchanges take %g bytes more\n", grown), 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (apportion_mpi_init(nullptr) != 0) {
        const int status = complain();
        apportion_mpi_shutdown();
        return status;
    }
    ring.units = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
    ring.what = argc > 2 ? argv[2] : "";
    ring.rank = argc > 3 ? std::atoi(argv[3]) : -1;
    if (here("differs")) ++ring.units;
    ring.from.assign(ring.units + 2, -1);
    ring.to.assign(ring.units + 2, -1);
    ring.last.assign(ring.units, -1);
    ring.starts.assign(1, 0);
    for (std::size_t i = 0; i < ring.units; ++i) ring.starts.push_back(ring.starts.back() + static_cast<int>(i % 3));
    ring.own.assign(static_cast<std::size_t>(ring.starts.back()) + 1, -1);
    if (here("starts"))
        for (std::int64_t& start : ring.starts) start = std::min<std::int64_t>(start, 3);
    if (ring.what == "falls") ring.starts.back() = 0;
    if (apportion_mpi_rank() == 0) {
        for (std::size_t i = 0; i < ring.units; ++i) ring.from[i + 1] = static_cast<Number>(i * i);
        for (std::size_t k = 0; k + 1 < ring.own.size(); ++k) ring.own[k] = static_cast<Number>(7 * k);
    }

    starpu_codelet codelet;
    starpu_codelet_init(&codelet);
    if (!here("unable")) codelet.cpu_funcs[0] = compute;
    codelet.nbuffers = 5;
    for (int k = 0; k < 5; ++k) codelet.modes[k] = k == 1 || k == 4 ? STARPU_W : STARPU_R;
    codelet.can_execute = able;
    codelet.name = "ring";
    apportion::LoadOptions options("ring", ring.units, codelet, fill);
    options.runs = kIterations;
    options.results_stay = ring.what == "task hangs";
    auto all = arrays();
    if (here("null")) all[1].data = nullptr;
    if (here("halo")) all[0].halo = 2;
    if (ring.what == "wide") all[0].halo = ring.units + 1;
    if (ring.what == "granules") options.granularity = 4;
    if (ring.what == "countless") options.units = static_cast<std::uint64_t>(-1);
    apportion_mpi_iteration* iteration = apportion_mpi_iteration_create(&options, all.data(), 2);
    const int status = !iteration ? complain() : ring.what == "on and on" ? run_on_and_on(iteration) : run(iteration);
    apportion_mpi_iteration_destroy(iteration);
    apportion_mpi_shutdown();
    return status;
}
