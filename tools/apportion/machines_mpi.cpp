// SPDX-License-Identifier: LGPL-2.1-or-later
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "codelets/common/mpirun.hpp"
#include "policies/mpi/apportion_mpi.h"
#include "policies/mpi/gather.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/machines.hpp"

namespace apportion {

namespace {

void send(const void* data, std::uint64_t bytes, int rank) {
    MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, rank, 0, MPI_COMM_WORLD);
}

void receive(void* data, std::uint64_t bytes, int rank) {
    MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Rank 0's part. The others answer until it ends.
class Questions {
  public:
    Questions(std::vector<char>& message, int ranks) : message_(message), ranks_(ranks) {}
    ~Questions() {
        for (int r = 1; r < ranks_; ++r) announce(0, r);
    }
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;

    double one_way_s(int rank, std::uint64_t bytes) {
        announce(bytes, rank);
        receive(nullptr, 0, rank);  // it waits for the message now
        const double begin_s = MPI_Wtime();
        send(message_.data(), bytes, rank);
        receive(message_.data(), bytes, rank);
        return (MPI_Wtime() - begin_s) / 2;
    }

  private:
    static void announce(std::uint64_t bytes, int rank) { send(&bytes, sizeof bytes, rank); }

    std::vector<char>& message_;
    int ranks_;
};

void answer(std::vector<char>& message) {
    for (std::uint64_t bytes = 0;;) {
        receive(&bytes, sizeof bytes, 0);
        if (bytes == 0) return;
        send(nullptr, 0, 0);
        receive(message.data(), bytes, 0);
        send(message.data(), bytes, 0);
    }
}

class Together final : public Machines {
  public:
    Together() : size_(apportion_mpi_nodes()), rank_(apportion_mpi_rank()) {
        if (apportion_mpi_agree(nullptr) != 0) throw UserError(apportion_mpi_error());  // there are no nodes
        // As in programs over nodes, a core is left to StarPU-MPI's thread.
        if (size_ > 1 && !std::getenv("STARPU_NCPU") && !std::getenv("STARPU_NCPUS"))
            setenv("STARPU_RESERVE_NCPU", "1", 0);
    }

    int size() const override { return size_; }
    int rank() const override { return rank_; }
    bool by_mpirun() const override { return true; }

    int agreed(const std::function<int()>& body) override {
        std::string problem;
        int result = 0, largest = 0;
        try {
            result = body();
        } catch (const std::bad_alloc&) {
            problem = "the memory does not suffice; choose a smaller problem";
        } catch (const std::exception& error) {
            problem = error.what();
        }
        if (apportion_mpi_agree(problem.empty() ? nullptr : problem.c_str()) != 0)
            throw AgreedError(apportion_mpi_error());
        MPI_Allreduce(&result, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return largest;
    }

    std::vector<std::string> gather(const std::string& text) override {
        std::vector<std::string> texts;
        gather_texts(MPI_COMM_WORLD, text, texts);
        return texts;
    }

    std::vector<LinkTimes> measure_links(const SampleOptions& options, const std::function<bool()>& stop) override {
        std::vector<LinkTimes> links(static_cast<std::size_t>(size_));
        std::vector<char> message;
        agreed([&] {
            message.assign(kLargestMessage_bytes, 0);
            return 0;
        });
        agreed([&] {
            if (rank_ > 0) {
                answer(message);
                return 0;
            }
            Questions questions(message, size_);
            for (int r = 1; r < size_; ++r)
                links[static_cast<std::size_t>(r)] =
                    measure_link([&](std::size_t bytes) { return questions.one_way_s(r, bytes); }, options, stop);
            return 0;
        });
        return links;
    }

    void finish() override { apportion_mpi_shutdown(); }

  private:
    int size_, rank_;
};

}  // namespace

Machines& Machines::here() {
    static const std::unique_ptr<Machines> machines =
        started_by_mpirun() ? std::unique_ptr<Machines>(new Together) : std::make_unique<Machines>();
    return *machines;
}

}  // namespace apportion
