// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MPDATA, the application of the paper on load imbalancing (docs/papers/imbalance.md): advection of a non-negative
// field psi by a flow that is given as Courant numbers at the cells' faces, in three dimensions, second order, positive
// definite and with the nonoscillatory option, periodic on all sides. A unit is one plane of ny x nz cells across the
// first dimension; a load is grid.steps time steps of all planes.
//
// A block reads 3 planes more on either side for each time step and computes what it needs there itself, so that blocks
// do not wait for each other within a load, and the result does not depend on how the planes are cut, bit for bit. More
// time steps in a load cost redundant planes and save halo exchanges: 1 is right in main memory, more pay on devices.
#pragma once

#include <memory>
#include <vector>

#include "codelets/common/codelet.hpp"
#include "codelets/mpdata/mpdata_kernels.hpp"

namespace apportion {

/// A field and its flow; planes include the halo on either side, rows the periodic ring (mpdata_kernels.hpp).
class MpdataField {
  public:
    /// All values are undefined. Throws UserError when a dimension is below 1, nx is smaller than the halo, or
    /// memory does not suffice.
    MpdataField(int nx, const MpdataGrid& grid);

    int nx() const { return nx_; }
    const MpdataGrid& grid() const { return grid_; }

    double& psi(int x, int y, int z) { return psi_[index(x, y, z)]; }
    double psi(int x, int y, int z) const { return psi_[index(x, y, z)]; }
    /// Courant number at the face of cell (x, y, z) towards the next cell in direction 0 (x), 1 (y) or 2 (z).
    double& courant(int direction, int x, int y, int z);
    double courant(int direction, int x, int y, int z) const;

    /// Calls body(x, y, z), z fastest.
    template <class Body>
    void for_each_cell(Body&& body) const {
        for (int x = 0; x < nx_; ++x)
            for (int y = 0; y < grid_.ny; ++y)
                for (int z = 0; z < grid_.nz; ++z) body(x, y, z);
    }

    double* plane(int x) { return psi_.get() + index(x, -1, -1); }
    double* courant_planes(int x);
    double* result_plane(int x) { return result_.get() + index(x, -1, -1); }

    /// Makes the memory known to CUDA devices, so that transfers are fast; StarPU must be running until unpin(). Says
    /// so on stderr where that is not possible.
    void pin();
    void unpin();

    /// Repeats planes and rows beyond the edges, of psi and of the Courant numbers. After psi or courant were written.
    void make_periodic();
    /// The result becomes the field: a load's time steps are done.
    void advance();

    double sum() const;  ///< of psi over all cells, in an order that does not depend on anything
    double smallest() const;
    double largest() const;

    /// The largest sum of the absolute Courant numbers that leave a cell: above 1 the scheme is unstable.
    double largest_courant() const;
    void scale_courant(double factor);

  private:
    using Values = std::unique_ptr<double[]>;  ///< not initialised: a simulation never touches them

    std::size_t bytes(const Values& values) const;
    std::size_t index(int x, int y, int z) const {
        return static_cast<std::size_t>(x + grid_.halo()) * grid_.plane() +
               static_cast<std::size_t>(y + 1) * static_cast<std::size_t>(grid_.row()) +
               static_cast<std::size_t>(z + 1);
    }
    void repeat_planes(double* first_of_halo, std::size_t doubles_per_plane) const;

    int nx_;
    MpdataGrid grid_;
    std::size_t planes_;
    Values psi_, result_, courant_;
    int pinned_ = 0;  ///< of these, the first ones
};

/// The standard test of Smolarkiewicz (J. Comput. Phys. 54, 1984): a ball of psi = 4, here with a smooth conical
/// profile or a constant one, in solid-body rotation about the cube's diagonal. `courant`: the largest sum of Courant
/// numbers.
enum class MpdataBody { sphere, cone };
void rotating_body(MpdataField& field, MpdataBody body, double courant);

/// One load's time steps over the whole field, stage by stage, into `result` (cells without rings, x slowest).
std::vector<double> mpdata_reference(const MpdataField& field);

/// verify() compares the result of the last load with mpdata_reference(), bit for bit: max_error is the largest
/// difference, the tolerance 0. The field must outlive the workload, and be advanced between loads.
std::unique_ptr<Workload> make_mpdata(std::shared_ptr<MpdataField> field);

/// The same in rectangles, whose columns are planes and whose rows are theirs (the grid of teams of the paper), a task
/// each; one time step. run_on_workers() has to give one unit to every worker with any. A rectangle reads the field
/// three cells beyond its edges and computes there what it needs itself. Not a load: a rectangle belongs to its worker.
/// On CPU cores.
std::unique_ptr<Workload> make_mpdata(std::shared_ptr<MpdataField> field, PartsOfWorkers of_workers);

/// A rotating cone in NX x NY x NZ cells, one time step.
std::unique_ptr<Workload> make_mpdata(const WorkloadOptions& options);

}  // namespace apportion
