// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A user's program over nodes: y = 2 x + 1 of vectors, or of matrices whose rows are units. axpy_over_nodes UNITS [CASE
// RANK]: what goes wrong on that rank. Status 0 when rank 0's result is right; prints the number of nodes and of lost
// ones, and, with CASE timing, the makespan.
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <starpu_mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/mpi/apportion_mpi.h"
#include "policies/starpu/apportion.hpp"

namespace {

constexpr std::size_t kColumns = 3;

struct Work {
    std::vector<double> x, y;
    std::size_t units = 0;
    bool rows = false;
    std::string what;
    int rank = -1;  ///< on which that happens
};

Work work;
std::atomic<int> tasks = 0, running = 0;
std::atomic<bool> stalled = false, returned = false, no_threads = false;

/// A task that stores what it should when its rank has begun with the units' next load, or after this long.
class StoresLate {
  public:
    /// Of the next load: until the task has stored, if that is into these units' input.
    void meet(const double* x, std::size_t size) {
        if (!y_ || x + size <= y_ || y_ + size_ <= x) return;
        met_ = true;
        while (!stored_) usleep(1000);
    }
    void wait(const double* y, std::size_t size) {
        size_ = size;
        y_ = y;
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(12);
        while (!met_ && std::chrono::steady_clock::now() < until) usleep(1000);
    }
    void stored() { stored_ = true; }

  private:
    std::size_t size_ = 0;
    std::atomic<const double*> y_ = nullptr;
    std::atomic<bool> met_ = false, stored_ = false;
};
StoresLate late;

void compute(void* buffers[], void*) {
    const bool here = apportion_mpi_rank() == work.rank;
    const int number = tasks++;
    ++running;
    if (here && work.what == "fails" && number > 3) {
        apportion_block_failed("the test wants it");
        --running;
        return;
    }
    if (here && work.what == "exits" && number > 3) std::exit(7);
    if (here && work.what == "hangs") raise(SIGSTOP);
    if (here && (work.what == "stalls" || work.what == "stays") && number > 1 && !stalled.exchange(true)) {
        if (work.what == "stalls" && work.rank == 0)
            while (!returned) usleep(1000);  // the run ends with that
        else
            usleep(12'000'000);
    }
    const bool hangs = work.what == "task hangs" || work.what == "stays and hangs";
    if (here && hangs && number > 1 && !stalled.exchange(true)) pause();
    const bool stores_late = here && work.what == "stores late" && number > 1 && !stalled.exchange(true);
    const std::size_t nx = STARPU_MATRIX_GET_NX(buffers[0]), ny = STARPU_MATRIX_GET_NY(buffers[0]);
    const std::size_t ldx = STARPU_MATRIX_GET_LD(buffers[0]), ldy = STARPU_MATRIX_GET_LD(buffers[1]);
    const auto* x = reinterpret_cast<const double*>(STARPU_MATRIX_GET_PTR(buffers[0]));
    auto* y = reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffers[1]));
    double us_per_unit = 200;
    if (here && work.what == "late" && number > 3) us_per_unit *= 100;
    if (here && work.what == "slow") us_per_unit *= 3;
    const std::size_t units = work.rows ? nx : ny;
    usleep(static_cast<useconds_t>(us_per_unit * static_cast<double>(units)));
    if (stores_late)
        late.wait(y, nx * ny);
    else
        late.meet(x, nx * ny);
    for (std::size_t j = 0; j < ny; ++j)
        for (std::size_t i = 0; i < nx; ++i) y[i + j * ldy] = 2 * x[i + j * ldx] + 1;
    if (stores_late) late.stored();
    --running;
}

int fill(starpu_task* task, apportion_block* block, void*) {
    if (apportion_mpi_rank() == work.rank && work.what == "unfilled") return -EINVAL;
    if (work.rows) {
        task->handles[0] = apportion_block_matrix(block, STARPU_R, &work.x[block->first], work.units, block->units,
                                                  kColumns, sizeof(double));
        task->handles[1] = apportion_block_matrix(block, STARPU_W, &work.y[block->first], work.units, block->units,
                                                  kColumns, sizeof(double));
    } else {
        task->handles[0] = apportion_block_matrix(block, STARPU_R, &work.x[block->first * kColumns], kColumns, kColumns,
                                                  block->units, sizeof(double));
        task->handles[1] = apportion_block_matrix(block, STARPU_W, &work.y[block->first * kColumns], kColumns, kColumns,
                                                  block->units, sizeof(double));
    }
    return 0;
}

int complain() {
    if (apportion_mpi_rank() == 0) std::fprintf(stderr, "axpy_over_nodes: %s\n", apportion_mpi_error());
    apportion_mpi_shutdown();
    return 2;
}

/// A message of the program's own, on its way while the load runs.
class Letter {
  public:
    Letter() {
        // Whatever is registered with data tags is no message of the library's.
        for (int tag = 0; tag < std::ssize(tagged_); ++tag) {
            starpu_variable_data_register(&tagged_[tag], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(&number_),
                                          sizeof number_);
            starpu_mpi_data_register(tagged_[tag], tag, 0);
        }
        starpu_variable_data_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(&number_),
                                      sizeof number_);
        number_ = 1000 + apportion_mpi_rank();
        if (apportion_mpi_rank() == 1) starpu_mpi_isend_detached(handle_, 0, 0, MPI_COMM_WORLD, nullptr, nullptr);
    }
    bool arrives() {
        for (const starpu_data_handle_t handle : tagged_) starpu_data_unregister(handle);
        if (apportion_mpi_nodes() == 1) {
            starpu_data_unregister(handle_);
            return starpu_mpi_world_size() == 1;  // StarPU-MPI runs
        }
        // With the tag that StarPU-MPI has where nobody says another.
        int number = apportion_mpi_rank() == 1 ? 42 : 0;
        if (apportion_mpi_rank() == 1) MPI_Send(&number, 1, MPI_INT, 0, 42, MPI_COMM_WORLD);
        if (apportion_mpi_rank() == 0) MPI_Recv(&number, 1, MPI_INT, 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (apportion_mpi_rank() < 2 && number != 42) return false;
        if (apportion_mpi_rank() == 0) starpu_mpi_recv(handle_, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        starpu_data_unregister(handle_);
        return apportion_mpi_rank() > 1 || number_ == 1001;
    }

  private:
    long number_ = 0;
    starpu_data_handle_t handle_ = nullptr, tagged_[100] = {};
};

/// A task of the program's own on rank 0, which writes x when the load is to run already.
class Writer {
  public:
    Writer() {
        starpu_codelet_init(&codelet_);
        codelet_.cpu_funcs[0] = write;
        codelet_.nbuffers = 1;
        codelet_.modes[0] = STARPU_W;
        starpu_vector_data_register(&use.handle, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(work.x.data()),
                                    static_cast<std::uint32_t>(work.x.size()), sizeof(double));
    }
    ~Writer() { starpu_data_unregister(use.handle); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void begin() {
        std::fill(work.x.begin(), work.x.end(), -1);
        if (apportion_mpi_rank() == 0) starpu_task_insert(&codelet_, STARPU_W, use.handle, 0);
    }

    apportion_use use{nullptr, STARPU_R};

  private:
    static void write(void* buffers[], void*) {
        usleep(500'000);
        auto* x = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        for (std::size_t i = 0; i < work.x.size(); ++i) x[i] = static_cast<double>(i);
    }

    starpu_codelet codelet_{};
};

/// As a program has them that knows fewer fields: what lies behind them is something else.
class ShortOptions {
  public:
    explicit ShortOptions(const apportion_load_options& all) {
        constexpr std::size_t kSize = offsetof(apportion_load_options, results_stay);
        std::memset(memory_, 0x55, sizeof memory_);
        std::memcpy(memory_, &all, kSize);
        std::memcpy(memory_, &kSize, sizeof kSize);
    }
    const apportion_load_options* get() const { return reinterpret_cast<const apportion_load_options*>(memory_); }

  private:
    alignas(apportion_load_options) std::byte memory_[sizeof(apportion_load_options)];
};

/// 0: right.
int run(apportion_mpi_load* load, std::optional<Writer>& writer) {
    const int runs = work.what == "stores late" ? 1 : 2;
    for (int times = 0; times < runs; ++times) {
        std::fill(work.y.begin(), work.y.end(), -1);
        if (writer) writer->begin();
        tasks = 0;
        const int status = apportion_mpi_load_run(load);
        returned = true;
        if (status != 0) return 2;
        if (apportion_mpi_rank() != 0) continue;
        for (std::size_t i = 0; i < work.units * kColumns; ++i)
            if (work.y[i] != 2 * work.x[i] + 1) {
                std::fprintf(stderr, "axpy_over_nodes: element %zu is wrong: %g\n", i, work.y[i]);
                return 1;
            }
        if (work.what == "stays") {  // the program has its results again
            std::fill(work.y.begin(), work.y.end(), -1);
            while (running > 0) usleep(1000);
            if (std::ranges::count(work.y, -1) != std::ssize(work.y))
                return std::fprintf(stderr, "axpy_over_nodes: a task stores after the run\n"), 1;
        }
        const auto report = nlohmann::json::parse(apportion_mpi_load_report(load));
        const std::string note = report.at("note");
        std::size_t units = 0;
        for (const auto& node : report.at("processors")) units += node.at("units").get<std::size_t>();
        if (units != work.units) return std::fprintf(stderr, "axpy_over_nodes: %zu units counted\n", units), 1;
        std::printf("%zu nodes, %zu lost, %g s\n", report.at("processors").size(), report.at("lost_processors").size(),
                    apportion_mpi_load_seconds(load));
        const bool lost = !report.at("lost_processors").empty(), told = note.find("lost_processors") != note.npos;
        if (lost != told) return std::fprintf(stderr, "axpy_over_nodes: the note is: %s\n", note.c_str()), 1;
        const auto& network = report.at("network");
        std::printf("bytes %.0f, at least %.0f\n", network.at("bytes").get<double>(),
                    network.at("least_bytes").get<double>());
    }
    return 0;
}

/// Its input is where the load before had its results. Status as of run().
int run_next_load(const apportion::LoadOptions& options) {
    work.x.swap(work.y);
    for (std::size_t i = 0; apportion_mpi_rank() == 0 && i < work.x.size(); ++i)
        work.x[i] = 0.25 - static_cast<double>(i);
    const std::size_t unit = kColumns * sizeof(double);
    const apportion_mpi_array arrays[] = {{work.x.data(), unit, 1, 0, STARPU_R}, {work.y.data(), unit, 1, 0, STARPU_W}};
    apportion_mpi_load* const load = apportion_mpi_load_create(&options, arrays, 2);
    std::optional<Writer> nobody;
    const int status = load ? run(load, nobody) : 2;
    apportion_mpi_load_destroy(load);
    return status;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* arg) noexcept {
    static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return no_threads ? EAGAIN : create(thread, attributes, body, arg);
}

int main(int argc, char** argv) {
    const bool started = argc > 2 && std::strcmp(argv[2], "starts StarPU-MPI") == 0;
    if (started && starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, nullptr) != 0) return 2;
    if (apportion_mpi_init(nullptr) != 0) {
        const int status = complain();
        if (started) starpu_mpi_shutdown();
        return status;
    }
    work.units = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    work.what = argc > 2 ? argv[2] : "";
    work.rank = argc > 3 ? std::atoi(argv[3]) : -1;
    work.rows = work.what == "rows" || work.what == "dense rows";
    const int rank = apportion_mpi_rank();
    const bool here = rank == work.rank;
    if (work.what == "starts twice" && apportion_mpi_init(nullptr) != 0) return complain();
    if (here && work.what == "differs") ++work.units;
    double shared[] = {1, 2};
    if (apportion_mpi_share(here && work.what == "shares nothing" ? nullptr : shared,
                            sizeof(double) * (here && work.what == "shares more" ? 2 : 1)) != 0)
        return complain();
    if (here && work.what == "shares again" && apportion_mpi_share(shared, sizeof(double)) != 0) return complain();
    work.x.assign(std::max<std::size_t>(1, work.units) * kColumns, 0);
    work.y.assign(work.x.size(), 0);
    if (apportion_mpi_rank() == 0)
        for (std::size_t i = 0; i < work.x.size(); ++i) work.x[i] = static_cast<double>(i);

    starpu_codelet codelet;
    starpu_codelet_init(&codelet);
    if (!(here && work.what == "unable")) codelet.cpu_funcs[0] = compute;
    codelet.nbuffers = 2;
    codelet.modes[0] = STARPU_R;
    codelet.modes[1] = STARPU_W;
    codelet.name = "axpy";
    apportion::LoadOptions options("axpy", work.units, codelet, fill);
    options.results_stay = work.what.starts_with("stays");
    std::optional<Writer> writer;
    if (work.what == "uses") {
        options.uses = &writer.emplace().use;
        options.uses_count = 1;
    }
    const std::size_t unit = work.rows ? sizeof(double) : kColumns * sizeof(double);
    const std::size_t pieces = work.rows ? kColumns : 1,
                      stride = work.rows ? (work.units - (work.what == "dense rows")) * sizeof(double) : 0;
    double* const results = work.what == "in place" ? &work.x[work.units * kColumns - 1] : work.y.data();
    const apportion_mpi_array arrays[] = {{work.x.data(), unit, pieces, stride, STARPU_R},
                                          {results, unit, pieces, stride, STARPU_W}};
    no_threads = here && work.what == "no threads";
    const ShortOptions fewer(options);
    apportion_mpi_load* load =
        apportion_mpi_load_create(work.what == "fewer options" ? fewer.get() : &options, arrays, 2);
    if (!load) return complain();
    no_threads = false;
    std::optional<Letter> letter;
    if (work.what == "letter") letter.emplace();
    int status = here && work.what == "ends early" ? 0 : run(load, writer);
    if (work.what == "stores late" && status == 0) status = run_next_load(options);
    if (letter && !letter->arrives()) {
        std::fprintf(stderr, "axpy_over_nodes: the letter is another\n");
        status = 1;
    }
    if (status == 2 && apportion_mpi_rank() == 0) std::fprintf(stderr, "axpy_over_nodes: %s\n", apportion_mpi_error());
    apportion_mpi_load_destroy(load);
    writer.reset();
    apportion_mpi_shutdown();
    return apportion_mpi_rank() == rank ? status : 3;
}
