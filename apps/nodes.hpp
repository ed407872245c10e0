// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The processes that run an application together, each on a node of its own: those that mpirun started, where the
// program was built with StarPU-MPI (nodes_mpi.cpp); else one (nodes_alone.cpp).
//
// Rank 0 reads and makes the data, checks the result and prints; the others have room for the data only. Errors of one
// rank become errors of all, told by rank 0.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "codelets/common/codelet.hpp"

namespace apportion {

/// A workload as a load on this node or over all nodes: what applications run without knowing which.
class NodesLoad {
  public:
    virtual ~NodesLoad() = default;
    /// Throws std::runtime_error.
    virtual void run() = 0;
    virtual double seconds() const = 0;
    virtual std::string policy() const;
    virtual nlohmann::ordered_json report() const = 0;

    /// Whether its data stay distributed over nodes while it runs again and again (Workload::distributed). What follows
    /// has no effect where they do not.
    virtual bool distributed() const { return false; }
    /// After a run, when its results have become what the next one reads: each node gets what its units read.
    virtual void exchange() {}
    /// Rank 0 gets what the next run reads, or what the last one wrote, and the nodes' reports.
    virtual void collect() {}
    virtual void collect_results() {}
    /// The largest of all nodes' values, for each.
    virtual void largest(std::span<double> values) { (void)values; }
};

class Nodes {
  public:
    virtual ~Nodes() = default;
    /// This program's; found out at the first call. Throws UserError.
    static Nodes& here();

    virtual int size() const { return 1; }
    virtual int rank() const { return 0; }
    bool home() const { return rank() == 0; }
    /// Whether loads run over nodes, even if there is one only.
    virtual bool over_nodes() const { return false; }
    /// Whether every rank makes the problem: simulated data have no content, and files are there for all.
    virtual bool alike() const { return false; }

    /// Runs `body` on all ranks. When it throws on some, all throw UserError or std::runtime_error with the sentence
    /// of the lowest of them.
    virtual void agreed(const std::function<void()>& body) { body(); }

    /// From rank 0 to all.
    virtual void share(void* data, std::size_t bytes) { (void)data, (void)bytes; }
    template <class T>
    void share(T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        share(static_cast<void*>(&value), sizeof value);
    }

    /// Throws UserError, on all ranks, when the text is not the same on all.
    virtual void require_same(const std::string& what, const std::string& text) { (void)what, (void)text; }

    /// StarPU, until stop(). Throws apportion::Error, as all ranks do.
    virtual void start();
    virtual void stop();

    /// A load that will run `runs` times; 0: not known. All ranks call it and what it returns. `iterated`: its data may
    /// stay distributed; rank 0 has all of them at first. Throws std::runtime_error, on all ranks.
    virtual std::unique_ptr<NodesLoad> make_load(Workload& workload, unsigned runs, bool iterated = false);

    /// The program's end, with this exit status. Returns where the status that main returns is that of the program.
    virtual void leave(int status) { (void)status; }

    /// An error that the others do not know of: ends all ranks. Returns where this is the only one, or where all know.
    virtual void fail_alone(const std::string& sentence, int status) { (void)sentence, (void)status; }
};

/// A problem: `make()` it on rank 0, and where others are the same without content, `empty(shape)`, from the shape of
/// rank 0's, a structure that can be copied byte by byte.
template <class Make, class ShapeOf, class Empty>
auto make_on_home(Make&& make, ShapeOf&& shape_of, Empty&& empty) {
    Nodes& nodes = Nodes::here();
    std::optional<decltype(make())> problem;
    nodes.agreed([&] {
        if (nodes.home() || nodes.alike()) problem.emplace(make());
    });
    if (nodes.size() == 1 || nodes.alike()) return std::move(*problem);
    decltype(shape_of(*problem)) shape{};
    if (nodes.home()) shape = shape_of(*problem);
    nodes.share(shape);
    nodes.agreed([&] {
        if (!nodes.home()) problem.emplace(empty(shape));
    });
    return std::move(*problem);
}

}  // namespace apportion
