// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Inside StarPU's simulated flavour: do blocks and transfers take the virtual time that the platform file says? Cases
// with the tag [noisy] run on noisy_machine.toml, the others on machine.toml.
#include <starpu.h>

#include <memory>
#include <vector>

#include "codelets/simulated/starpu_cost.hpp"
#include "test/catch.hpp"
#include "test/run_tests.hpp"

using namespace apportion::simulated;

namespace {

// StarPU's own actions, a few microseconds each.
constexpr double kSlack_s = 1e-4;

std::uint64_t units_of(const starpu_task* task) { return reinterpret_cast<std::uintptr_t>(task->cl_arg); }

struct Codelet {
    starpu_codelet codelet;

    Codelet(const char* kernel, int buffers) {
        starpu_codelet_init(&codelet);
        codelet.name = "test";
        codelet.nbuffers = buffers;
        codelet.modes[0] = STARPU_R;
        codelet.modes[1] = STARPU_W;
        install(codelet, kernel, {}, units_of);
    }
};

Codelet& plain(int buffers) {
    static Codelet codelets[] = {{"even", 0}, {"even", 1}, {"even", 2}};
    return codelets[buffers];
}

/// Memory that nobody touches, registered as one vector.
class Data {
  public:
    explicit Data(std::size_t bytes) : memory_(new char[bytes]) {
        starpu_vector_data_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(memory_.get()), bytes,
                                    1);
    }
    ~Data() { starpu_data_unregister(handle_); }
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
    starpu_data_handle_t handle() const { return handle_; }

  private:
    std::unique_ptr<char[]> memory_;
    starpu_data_handle_t handle_ = nullptr;
};

struct Times {
    double start_s, end_s;
    double length_s() const { return end_s - start_s; }
};

class Task {
  public:
    Task(Codelet& codelet, int worker, std::uintptr_t units, std::vector<starpu_data_handle_t> handles = {})
        : task_(starpu_task_create()), submitted_s_(now_s()) {
        task_->cl = &codelet.codelet;
        task_->cl_arg = reinterpret_cast<void*>(units);
        task_->destroy = 0;
        task_->detach = 0;
        task_->execute_on_a_specific_worker = 1;
        task_->workerid = static_cast<unsigned>(worker);
        for (std::size_t i = 0; i < handles.size(); ++i) task_->handles[i] = handles[i];
        status_ = starpu_task_submit(task_);
    }
    ~Task() { starpu_task_destroy(task_); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    int status() const { return status_; }
    starpu_task* task() const { return task_; }

    /// Start and end of the kernel, since the task was submitted.
    Times wait() {
        if (starpu_task_wait(task_) != 0) FAIL("a task cannot be waited for");
        const auto s = [&](timespec& t) { return starpu_timing_timespec_to_us(&t) * 1e-6 - submitted_s_; };
        return {s(task_->profiling_info->start_time), s(task_->profiling_info->end_time)};
    }

    static double now_s() { return starpu_timing_now() * 1e-6; }

  private:
    starpu_task* task_;
    double submitted_s_;
    int status_ = 0;
};

int cuda(int device) { return starpu_worker_get_by_devid(STARPU_CUDA_WORKER, device); }
int cpu(int core) { return starpu_worker_get_by_type(STARPU_CPU_WORKER, core); }
unsigned memory_of(int device) { return starpu_worker_get_memory_node(static_cast<unsigned>(cuda(device))); }

/// Puts the only valid copy of the data on the device.
void move_to(const Data& data, int device) {
    static Codelet* writer = [] {
        auto* c = new Codelet("even", 1);
        c->codelet.modes[0] = STARPU_W;
        return c;
    }();
    Task(*writer, cuda(device), 1, {data.handle()}).wait();
}

/// Seconds until one set of data has arrived on a device while another one travels home.
double both_directions_s(int home_from, int to) {
    Data home(10'000'000), out(10'000'000);
    move_to(home, home_from);
    const double begin_s = Task::now_s();
    starpu_data_prefetch_on_node(home.handle(), STARPU_MAIN_RAM, 1);
    Task task(plain(1), cuda(to), 1, {out.handle()});
    starpu_data_acquire(home.handle(), STARPU_R);
    starpu_data_release(home.handle());
    const double home_s = Task::now_s() - begin_s;
    return std::max(task.wait().start_s, home_s);
}

}  // namespace

TEST_CASE("StarPU has the workers of the platform", "[machine]") {
    CHECK(starpu_cpu_worker_get_count() == 2);
    CHECK(starpu_cuda_worker_get_count() == 4);
}

TEST_CASE("every block takes the time of its own units", "[machine]") {
    for (int worker : {cpu(0), cpu(1), cuda(0), cuda(3)})
        for (std::uintptr_t units : {500U, 20U, 1000U, 1000U, 1U})
            CHECK(Task(plain(0), worker, units).wait().length_s() == Approx(0.01 + 0.001 * units).margin(kSlack_s));
}

TEST_CASE("a block starts when its data have crossed the link", "[machine]") {
    Data data(100'000'000);
    const Times times = Task(plain(1), cuda(0), 500, {data.handle()}).wait();
    CHECK(times.start_s == Approx(1e-3 + 0.1).margin(kSlack_s));
    CHECK(times.length_s() == Approx(0.51).margin(kSlack_s));
}

TEST_CASE("the next block's transfer overlaps with a kernel", "[machine]") {
    Data first(100'000'000), second(100'000'000);
    Task a(plain(1), cuda(0), 500, {first.handle()});
    Task b(plain(1), cuda(0), 500, {second.handle()});
    const Times before = a.wait();
    CHECK(b.wait().end_s == Approx(before.end_s + 0.51).margin(kSlack_s));
}

TEST_CASE("transfers to devices on a shared link share its bandwidth", "[machine]") {
    Data first(10'000'000), second(10'000'000);
    Task a(plain(1), cuda(1), 1, {first.handle()});
    Task b(plain(1), cuda(2), 1, {second.handle()});
    CHECK(a.wait().start_s == Approx(1e-3 + 0.2).margin(kSlack_s));
    CHECK(b.wait().start_s == Approx(1e-3 + 0.2).margin(kSlack_s));
}

TEST_CASE("transfers over different links do not disturb each other", "[machine]") {
    Data first(10'000'000), second(10'000'000);
    Task a(plain(1), cuda(1), 1, {first.handle()});
    Task b(plain(1), cuda(3), 1, {second.handle()});
    CHECK(a.wait().start_s == Approx(1e-3 + 0.1).margin(kSlack_s));
    CHECK(b.wait().start_s == Approx(2e-3 + 0.1).margin(kSlack_s));
}

TEST_CASE("a full-duplex link carries both directions at once, another one shares them", "[machine]") {
    CHECK(both_directions_s(1, 2) == Approx(1e-3 + 0.1).margin(kSlack_s));
    CHECK(both_directions_s(3, 3) == Approx(2e-3 + 0.2).margin(kSlack_s));
}

TEST_CASE("data between devices cross both links", "[machine]") {
    Data data(10'000'000);
    move_to(data, 1);
    CHECK(Task(plain(1), cuda(0), 1, {data.handle()}).wait().start_s == Approx(2e-3 + 0.1).margin(kSlack_s));
}

TEST_CASE("StarPU's schedulers see the bandwidth, the latency and the times of the platform", "[machine]") {
    CHECK(starpu_transfer_bandwidth(STARPU_MAIN_RAM, memory_of(0)) == Approx(1000));  // MB/s
    CHECK(starpu_transfer_latency(STARPU_MAIN_RAM, memory_of(3)) == Approx(2000));    // us
    // StarPU counts on as much traffic in the other direction.
    CHECK(starpu_transfer_predict(STARPU_MAIN_RAM, memory_of(0), 100'000'000) == Approx(1e3 + 2 * 1e5));
    Task task(plain(0), cpu(0), 70);
    CHECK(starpu_task_worker_expected_length(task.task(), static_cast<unsigned>(cuda(1)), 0, 0) == Approx(80'000));
    task.wait();
}

TEST_CASE("StarPU has all of a device's memory, and a block of three quarters of it runs", "[machine]") {
    CHECK(starpu_memory_get_total(memory_of(0)) >= 1'000'000'000);
    CHECK(starpu_memory_get_total(memory_of(0)) < 1'010'000'000);
    Data in(375'000'000), out(375'000'000);
    CHECK(Task(plain(2), cuda(0), 5, {in.handle(), out.handle()}).wait().length_s() == Approx(0.015).margin(kSlack_s));
}

TEST_CASE("a device without the kernel does not get its tasks", "[machine]") {
    static Codelet gpu_only("gpu_only", 0);
    CHECK(Task(gpu_only, cuda(0), 100).wait().length_s() == Approx(0.1).margin(kSlack_s));
    starpu_task refused;
    starpu_task_init(&refused);
    refused.cl = &gpu_only.codelet;
    CHECK(starpu_worker_can_execute_task(static_cast<unsigned>(cuda(1)), &refused, 0) == 0);
    CHECK(starpu_worker_can_execute_task(static_cast<unsigned>(cpu(0)), &refused, 0) == 0);
    starpu_task_clean(&refused);
}

TEST_CASE("what a scheduler is told has no noise, what is executed has", "[noisy]") {
    double sum = 0;
    for (int i = 0; i < 200; ++i) {
        Task task(plain(0), cpu(0), 1);
        CHECK(starpu_task_worker_expected_length(task.task(), static_cast<unsigned>(cpu(0)), 0, 0) == Approx(1000));
        const double length_s = task.wait().length_s();
        CHECK(length_s != Approx(1e-3).epsilon(1e-9));
        CHECK(length_s == Approx(1e-3).epsilon(0.2));
        sum += length_s;
    }
    CHECK(sum == Approx(0.2).epsilon(0.01));
}

TEST_CASE("a device that drifts becomes slower at its moment, unseen by schedulers", "[noisy]") {
    CHECK(Task(plain(0), cpu(1), 10).wait().length_s() == Approx(0.01).epsilon(0.2));
    starpu_sleep(1);
    Task task(plain(0), cpu(1), 10);
    CHECK(starpu_task_worker_expected_length(task.task(), static_cast<unsigned>(cpu(1)), 0, 0) == Approx(10'000));
    CHECK(task.wait().length_s() == Approx(0.03).epsilon(0.2));
}

int main(int argc, char** argv) {
    if (starpu_init(nullptr) != 0) return 1;
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    const int failed = run_tests(argc, argv);
    starpu_shutdown();
    return failed;
}
