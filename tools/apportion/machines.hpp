// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The machines that `apportion profile` measures together: those on which mpirun started this program, where it was
// built with MPI (machines_mpi.cpp), else this one (machines_alone.cpp). Each rank measures its own; rank 0 has a link
// to each of the others.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/samples.hpp"
#include "tools/apportion/profile_measure.hpp"

namespace apportion {

/// An error that all ranks have, in the sentence of the lowest of them.
class AgreedError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// All functions but size() and rank() are called by all ranks, in the same order.
class Machines {
  public:
    virtual ~Machines() = default;
    /// Throws UserError where mpirun started several processes of a program that knows no MPI.
    static Machines& here();

    virtual int size() const { return 1; }
    virtual int rank() const { return 0; }
    virtual bool by_mpirun() const { return false; }

    /// The largest result of `body` on any rank. Throws AgreedError where it throws on one of several.
    virtual int agreed(const std::function<int()>& body) { return body(); }

    /// Every rank's text, on all ranks.
    virtual std::vector<std::string> gather(const std::string& text) { return {text}; }

    /// On rank 0: of its link to each rank; the one to itself takes no time. They are of no use once `stop()` is true
    /// on a rank. Throws AgreedError.
    virtual std::vector<LinkTimes> measure_links([[maybe_unused]] const SampleOptions& options,
                                                 [[maybe_unused]] const std::function<bool()>& stop) {
        return {{}};
    }

    /// Nothing can be agreed on any more.
    virtual void finish() {}
};

}  // namespace apportion
