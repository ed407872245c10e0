// SPDX-License-Identifier: LGPL-2.1-or-later
// The matmul workload inside StarPU, under the scheduler that STARPU_SCHED names.
#include "codelets/matmul/matmul.hpp"

#include <starpu.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codelets/common/failed_task.hpp"
#include "codelets/matmul/matmul_kernels.hpp"
#include "test/catch.hpp"

using namespace apportion;

namespace {

struct Sizes {
    std::size_t m, n, k;
};

std::shared_ptr<MatmulProblem> problem_of(ElementType type, const Sizes& s) {
    auto problem = std::make_shared<MatmulProblem>(random_matmul(type, s.m, s.n, s.k, 7));
    fill_nan(problem->c);
    return problem;
}

/// The largest difference from three plain loops.
double distance_from_definition(const MatmulProblem& p) {
    double worst = 0;
    for (std::size_t j = 0; j < p.c.columns(); ++j)
        for (std::size_t i = 0; i < p.c.rows(); ++i) {
            double sum = 0;
            for (std::size_t l = 0; l < p.b.rows(); ++l) sum += element(p.a, i, l) * element(p.b, l, j);
            const double difference = std::abs(element(p.c, i, j) - sum);
            worst = difference <= worst ? worst : difference;  // keeps not-a-number
        }
    return worst;
}

double rounding(const MatmulProblem& p) { return static_cast<double>(p.b.rows()) * epsilon(p.c.type()); }

/// Runs the workload as a load, `times` times.
void run(Workload& workload, int times = 1) {
    Load load(load_options(workload));
    for (int i = 0; i < times; ++i) {
        workload.spoil_result();
        load.run();
        CHECK(workload.verify().correct);
    }
}

}  // namespace

TEST_CASE("a load multiplies matrices of any shape and type as the definition says") {
    for (ElementType type : {ElementType::float32, ElementType::float64})
        for (const Sizes& sizes :
             {Sizes{1, 1, 1}, Sizes{5, 1, 3}, Sizes{1, 40, 2}, Sizes{33, 129, 65}, Sizes{64, 100, 7}}) {
            INFO(sizes.m << " x " << sizes.n << " x " << sizes.k);
            const auto problem = problem_of(type, sizes);
            const auto workload = make_matmul(problem);
            run(*workload);
            CHECK(distance_from_definition(*problem) <= rounding(*problem));
        }
}

TEST_CASE("row panels cover the whole of A, also when a load is submitted again") {
    for (unsigned panels : {2u, 3u, 37u}) {
        const auto problem = problem_of(ElementType::float64, {37, 90, 20});
        const auto workload = make_matmul(problem, panels);
        CHECK(workload->shape().parts == panels);
        run(*workload, 3);
        CHECK(distance_from_definition(*problem) <= rounding(*problem));
    }
}

TEST_CASE("a worker goes through the panels back and forth", "[once]") {
    const auto problem = problem_of(ElementType::float32, {30, 10, 5});
    const auto workload = make_matmul(problem, 3);
    const auto order = [&](std::uint64_t first) {
        std::vector<starpu_data_handle_t> handles;
        for (unsigned part = 0; part < 3; ++part) handles.push_back(workload->data({first, 2, part, 0}).front().shared);
        return handles;
    };
    const auto there = order(0);
    const auto back = order(2);
    CHECK(std::vector(there.rbegin(), there.rend()) == back);
    CHECK(order(4) == there);
}

TEST_CASE("the number of panels follows the smallest device memory", "[once]") {
    CHECK(row_panels(1000, 1 << 20, 0) == 1);
    CHECK(row_panels(1000, 1 << 20, 4 << 20) == 1);
    CHECK(row_panels(1000, (1 << 20) + 1, 4 << 20) == 3);
    CHECK(row_panels(1000, 16 << 20, 4 << 20) == 32);
    CHECK(row_panels(10, 16 << 20, 4 << 20) == 10);
}

TEST_CASE("work on chosen workers runs there and is timed") {
    const auto problem = problem_of(ElementType::float32, {64, 60, 64});
    const auto workload = make_matmul(problem);
    std::vector<std::uint64_t> units(starpu_worker_get_count());
    REQUIRE(units.size() >= 2);
    REQUIRE(can_run(0, workload->codelet()));
    REQUIRE(can_run(1, workload->codelet()));
    units[0] = 40;
    units[1] = 20;
    const std::vector<double> seconds = run_on_workers(*workload, units);
    CHECK(seconds[0] > 0);
    CHECK(seconds[1] > 0);
    CHECK(distance_from_definition(*problem) <= rounding(*problem));
    // A codelet hands over what a device refuses, and here is no load to take it.
    fail_block("cudaMalloc: out of memory");
    CHECK_THROWS_WITH(run_on_workers(*workload, units), "matmul was not computed: cudaMalloc: out of memory");
    CHECK_NOTHROW(run_on_workers(*workload, units));
}

TEST_CASE("in rectangles each worker reads its rows of A and columns of B, and C is the whole product", "[once]") {
    const auto problem = problem_of(ElementType::float64, {41, 30, 12});
    PartsOfWorkers parts(starpu_worker_get_count());
    REQUIRE(parts.size() >= 2);
    parts[0] = {{0, 41, 0, 20}};
    parts[1] = {{0, 41, 20, 10}};
    for (const bool in_rows : {false, true}) {
        if (in_rows) parts[0] = {{11, 30, 0, 30}}, parts[1] = {{0, 11, 0, 30}};
        fill_nan(problem->c);
        const auto workload = make_matmul(problem, parts);
        std::vector<std::uint64_t> units(parts.size(), 0);
        units[0] = units[1] = 1;
        run_on_workers(*workload, units);
        CHECK(distance_from_definition(*problem) <= rounding(*problem));
        const std::vector<TaskData> data = workload->data({0, 1, 0, 1});
        CHECK(data[0].rows == parts[1][0].rows);
        CHECK(data[0].columns == 12);
        CHECK(data[1].rows == 12);
        CHECK(data[1].columns == parts[1][0].columns);
    }
}

namespace {

std::set<starpu_data_handle_t> seen[3];  ///< of A, B and C
std::mutex seen_mutex;

void note_and_multiply(void* buffers[], void* arg) {
    {
        const std::lock_guard lock(seen_mutex);
        for (int buffer = 0; buffer < 3; ++buffer) seen[buffer].insert(starpu_task_get_current()->handles[buffer]);
    }
    matmul_cpu(buffers, arg);
}

}  // namespace

TEST_CASE("what several rectangles of a worker read is registered once", "[once]") {
    const auto problem = problem_of(ElementType::float32, {41, 30, 12});
    PartsOfWorkers parts(starpu_worker_get_count());
    std::vector<std::uint64_t> units(parts.size(), 0);
    const int workers[] = {starpu_worker_get_by_type(STARPU_CPU_WORKER, 0),
                           starpu_worker_get_by_type(STARPU_CPU_WORKER, 1)};
    REQUIRE((workers[0] >= 0 && workers[1] >= 0));
    parts[workers[0]] = {{0, 11, 0, 20}, {0, 11, 20, 10}, {11, 30, 0, 20}};  // an L
    parts[workers[1]] = {{11, 30, 20, 10}};
    for (const int worker : workers) units[worker] = 1;
    const auto workload = make_matmul(problem, parts);
    auto& kernel = workload->codelet().cpu_funcs[0];
    const auto original = std::exchange(kernel, note_and_multiply);
    run_on_workers(*workload, units);
    kernel = original;
    CHECK(distance_from_definition(*problem) <= rounding(*problem));
    CHECK(seen[0].size() == 2);
    CHECK(seen[1].size() == 2);
    CHECK(seen[2].size() == 4);
}

TEST_CASE("after the warm-up StarPU's schedulers know the cost of every block size on every worker") {
    const auto problem = problem_of(ElementType::float32, {256, 600, 256});
    const auto workload = make_matmul(problem);
    warm_up(*workload);
    for (unsigned worker = 0; worker < starpu_worker_get_count(); ++worker) {
        if (!can_run(worker, workload->codelet())) continue;
        double smallest_us = 0, before_us = 0;
        for (std::uint64_t units : {1, 10, 100, 1000, 10000}) {
            starpu_task* task = starpu_task_create();
            task->cl = &workload->codelet();
            task->flops = workload->shape().task_operations(units);
            const double us = starpu_task_worker_expected_length(task, worker, 0, 0);
            CHECK(us > 0);
            CHECK(us >= before_us);  // a few columns may take as long as one
            before_us = us;
            if (units == 1) smallest_us = us;
            task->destroy = 0;
            starpu_task_destroy(task);
        }
        CHECK(before_us > smallest_us);
    }
}

namespace {
std::atomic<double> longest_predicted_us = 0;
}

TEST_CASE("what the warm-up measures is predicted to take no time: dmda keeps a worker busy as long as it predicted") {
    const auto problem = problem_of(ElementType::float32, {256, 600, 256});
    const auto workload = make_matmul(problem);
    starpu_codelet& codelet = workload->codelet();
    const starpu_cpu_func_t kernel = std::exchange(codelet.cpu_funcs[0], [](void* buffers[], void* arg) {
        const double us = starpu_task_get_current()->predicted;
        if (us > longest_predicted_us) longest_predicted_us = us;  // not-a-number: there is no prediction
        matmul_cpu(buffers, arg);
    });
    warm_up(*workload);
    codelet.cpu_funcs[0] = kernel;
    CHECK(longest_predicted_us < 1);
}

TEST_CASE("verification accepts OpenBLAS's own result", "[once]") {
    for (ElementType type : {ElementType::float32, ElementType::float64}) {
        const auto problem = problem_of(type, {301, 99, 203});
        matmul_by_one_call(*problem, 2);
        CHECK(verify_matmul(*problem).correct);
    }
}

TEST_CASE("verification accepts products that the type rounds to nothing", "[once]") {
    for (const double size : {1e-21, 1e-25}) {
        auto problem = problem_of(ElementType::float32, {8, 8, 8});
        for (Matrix* matrix : {&problem->a, &problem->b})
            matrix->for_each_column<float>([&](float* column, std::size_t) {
                for (int i = 0; i < 8; ++i) column[i] *= static_cast<float>(size);
            });
        matmul_by_one_call(*problem, 1);
        CHECK(verify_matmul(*problem).correct);
        static_cast<float*>(problem->c.at(0, 3))[0] = 1e-20f;
        CHECK_FALSE(verify_matmul(*problem).correct);
    }
}

TEST_CASE("verification notices one wrong column of many", "[once]") {
    const auto problem = problem_of(ElementType::float32, {64, 1000, 64});
    matmul_by_one_call(*problem, 1);
    REQUIRE(verify_matmul(*problem).correct);
    const std::size_t j = 333;
    const auto column = [&](std::size_t c) { return static_cast<float*>(problem->c.at(0, c)); };
    std::vector<float> good(column(j), column(j) + 64);

    SECTION("never computed") { std::fill_n(column(j), 64, std::nanf("")); }
    SECTION("one element never computed") { column(j)[63] = std::nanf(""); }
    SECTION("zero") { std::fill_n(column(j), 64, 0.0f); }
    SECTION("another column's result") { std::copy_n(column(j + 1), 64, column(j)); }
    SECTION("computed twice and added") {
        for (std::size_t i = 0; i < 64; ++i) column(j)[i] *= 2;
    }
    SECTION("infinite") { column(j)[0] = INFINITY; }
    CHECK_FALSE(verify_matmul(*problem).correct);
    std::copy(good.begin(), good.end(), column(j));
    CHECK(verify_matmul(*problem).correct);
}

TEST_CASE("impossible sizes are refused before memory is touched", "[once]") {
    CHECK_THROWS_AS(random_matmul(ElementType::float32, 1, 1, 4'000'000'000, 1), std::runtime_error);
    CHECK_THROWS_AS(random_matmul(ElementType::float64, 2'000'000'000, 2'000'000'000, 1, 1), std::runtime_error);
    CHECK_THROWS_AS(random_matmul(ElementType::float64, 10'000'000, 10'000'000, 1, 1), std::runtime_error);
}

TEST_CASE("before any measurement a cost is finite and grows with the work", "[once]") {
    starpu_task task;
    starpu_task_init(&task);
    task.flops = 1e6;
    const double us = measured_cost(&task, STARPU_NMAXWORKERS, 0);
    task.flops = 2e6;
    CHECK(us > 0);
    CHECK(measured_cost(&task, STARPU_NMAXWORKERS, 0) == Approx(2 * us));
    starpu_task_clean(&task);
}

TEST_CASE("every bundled workload runs as a load and verifies") {
    for (const WorkloadEntry& entry : bundled_workloads()) {
        INFO(entry.name);
        const auto workload = entry.make({.size = {50}, .seed = 3});
        CHECK(std::string(workload->shape().name) == entry.name);
        CHECK(workload->shape().operations_per_unit > 0);
        run(*workload, 2);
    }
}
