// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The processes that mpirun started, on libapportion-mpi. A program that was started without it runs alone, and no MPI
// is started. Simulated ranks are parts of one process, which smpirun started.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "codelets/common/mpirun.hpp"
#include "codelets/common/unit_arrays.hpp"
#include "models/io/shown.hpp"
#include "policies/mpi/apportion_mpi.h"

namespace apportion {

namespace {

std::string agreed_sentence;  ///< the last error that all ranks know

std::string agreed_on() { return agreed_sentence = apportion_mpi_error(); }

void check(int status) {
    if (status != 0) throw std::runtime_error(agreed_on());
}

class OverNodes final : public NodesLoad {
  public:
    OverNodes(Workload& workload, unsigned runs) {
        if (!kSimulated)
            for (const auto& range : shared_memory(workload)) check(apportion_mpi_share(range.data(), range.size()));
        std::vector<apportion_mpi_array> arrays;
        std::string problem;
        try {
            for (const UnitArray& a : unit_arrays(workload))
                arrays.push_back({a.data, a.bytes_per_unit, a.pieces, a.stride, a.mode});
        } catch (const std::exception& error) {
            problem = error.what();
        }
        check(apportion_mpi_agree(problem.empty() ? nullptr : problem.c_str()));
        const apportion_load_options options = load_options(workload, runs);
        load_ = apportion_mpi_load_create(&options, arrays.data(), static_cast<unsigned>(arrays.size()));
        if (!load_) throw std::runtime_error(agreed_on());
    }
    ~OverNodes() override { apportion_mpi_load_destroy(load_); }
    OverNodes(const OverNodes&) = delete;
    OverNodes& operator=(const OverNodes&) = delete;

    void run() override { check(apportion_mpi_load_run(load_)); }
    double seconds() const override { return apportion_mpi_load_seconds(load_); }
    nlohmann::ordered_json report() const override {
        return nlohmann::ordered_json::parse(apportion_mpi_load_report(load_));
    }

  private:
    apportion_mpi_load* load_ = nullptr;
};

class Iteration final : public NodesLoad {
  public:
    Iteration(Workload& workload, unsigned runs) : workload_(workload) {
        const apportion_load_options options = load_options(workload, runs);
        const Arrays arrays(workload.distributed());
        iteration_ = apportion_mpi_iteration_create(&options, arrays.data(), arrays.size());
        if (!iteration_) throw std::runtime_error(agreed_on());
    }
    ~Iteration() override { apportion_mpi_iteration_destroy(iteration_); }
    Iteration(const Iteration&) = delete;
    Iteration& operator=(const Iteration&) = delete;

    void run() override { check(apportion_mpi_iteration_run(iteration_)); }
    double seconds() const override { return apportion_mpi_iteration_seconds(iteration_); }
    nlohmann::ordered_json report() const override {
        return nlohmann::ordered_json::parse(apportion_mpi_iteration_report(iteration_));
    }
    bool distributed() const override { return true; }
    void exchange() override {
        const Arrays arrays(workload_.distributed());
        check(apportion_mpi_iteration_exchange(iteration_, arrays.data(), arrays.size()));
    }
    void collect() override { collect(Arrays(workload_.distributed())); }
    void collect_results() override { collect(Arrays(workload_.distributed_results())); }
    void largest(std::span<double> values) override {
        check(apportion_mpi_largest(values.data(), static_cast<unsigned>(values.size())));
    }

  private:
    class Arrays {
      public:
        explicit Arrays(const std::vector<DistributedData>& all) {
            for (const DistributedData& d : all)
                arrays_.push_back({d.data, d.bytes_per_unit, d.starts, d.halo, d.periodic ? 1 : 0,
                                   d.constant ? STARPU_R : STARPU_RW});
        }
        const apportion_mpi_distributed* data() const { return arrays_.data(); }
        unsigned size() const { return static_cast<unsigned>(arrays_.size()); }

      private:
        std::vector<apportion_mpi_distributed> arrays_;
    };

    void collect(const Arrays& arrays) {
        check(apportion_mpi_iteration_collect(iteration_, arrays.data(), arrays.size()));
    }

    Workload& workload_;
    apportion_mpi_iteration* iteration_ = nullptr;
};

class Together final : public Nodes {
  public:
    Together() : size_(apportion_mpi_nodes()), rank_(apportion_mpi_rank()) {}

    int size() const override { return size_; }
    int rank() const override { return rank_; }
    bool over_nodes() const override { return true; }
    bool alike() const override { return kSimulated; }

    void agreed(const std::function<void()>& body) override {
        std::string usage, other;
        try {
            body();
        } catch (const UserError& error) {
            usage = error.what();
        } catch (const std::bad_alloc&) {
            other = "the memory does not suffice; choose a smaller problem";
        } catch (const std::exception& error) {
            other = error.what();
        }
        const auto pointer = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
        if (apportion_mpi_agree(pointer(usage)) != 0) throw UserError(agreed_on());
        if (apportion_mpi_agree(pointer(other)) != 0) throw std::runtime_error(agreed_on());
    }

    void require_same(const std::string& what, const std::string& text) override {
        if (alike()) return;
        std::uint64_t length = text.size();
        Nodes::share(length);
        std::string first = text;
        first.resize(length);
        share(first.data(), first.size());
        agreed([&] {
            if (first != text)
                throw UserError("the {} is '{}', and '{}' on rank 0; start all ranks alike", what, text, first);
        });
    }

    void share(void* data, std::size_t bytes) override { check(apportion_mpi_share(data, bytes)); }

    void start() override {
        if (const int status = apportion_mpi_init(nullptr)) throw Error(-status, agreed_on());
        started_ = true;
    }
    void stop() override { apportion_mpi_shutdown(); }

    std::unique_ptr<NodesLoad> make_load(Workload& workload, unsigned runs, bool iterated) override {
        if (iterated) return std::make_unique<Iteration>(workload, runs);
        return std::make_unique<OverNodes>(workload, runs);
    }

    void fail_alone(const std::string& sentence, int status) override {
        if (size_ == 1 || sentence == agreed_sentence) return;
        if (kSimulated) {
            if (!started_) return;  // all find the same
            std::cerr << fmt::format("rank {}: {}\n", rank_, shown(sentence));
            end_process(status);
        }
        int finished = 0;
        MPI_Finalized(&finished);
        if (finished) return;
        std::cerr << fmt::format("rank {}: {}\n", rank_, shown(sentence));
        MPI_Abort(MPI_COMM_WORLD, status);
    }

    /// SMPI does not know what main returns, and waits forever for a StarPU that was not started.
    void leave(int status) override {
        if (kSimulated && home()) end_process(status);
    }

  private:
    [[noreturn]] static void end_process(int status) {
        std::cout.flush();
        std::fflush(nullptr);
        std::_Exit(status);
    }

    int size_, rank_;
    bool started_ = false;
};

class Alone final : public Nodes {};

}  // namespace

Nodes& Nodes::here() {
    static const std::unique_ptr<Nodes> nodes =
        kSimulated || started_by_mpirun() ? std::unique_ptr<Nodes>(new Together) : std::unique_ptr<Nodes>(new Alone);
    return *nodes;
}

}  // namespace apportion
