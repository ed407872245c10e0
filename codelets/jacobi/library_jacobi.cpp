// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cblas.h>

#include <Eigen/Sparse>

#include "codelets/jacobi/linear_system.hpp"
#include "models/io/text.hpp"

namespace apportion {

namespace {

using EigenSparse = Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>>;

void product(const Matrix& a, const float* x, float* y) {
    const auto n = static_cast<blasint>(a.columns());
    cblas_sgemv(CblasColMajor, CblasTrans, n, n, 1, static_cast<const float*>(a.at(0, 0)), static_cast<blasint>(a.ld()),
                x, 1, 0, y, 1);
}

void product(const Matrix& a, const double* x, double* y) {
    const auto n = static_cast<blasint>(a.columns());
    cblas_dgemv(CblasColMajor, CblasTrans, n, n, 1, static_cast<const double*>(a.at(0, 0)),
                static_cast<blasint>(a.ld()), x, 1, 0, y, 1);
}

}  // namespace

struct LibraryJacobi::State {
    const LinearSystem& system;
    int threads;
    Matrix diagonal, x, product;
    std::vector<std::int32_t> start;  ///< as Eigen wants it

    template <class T>
    T* pointer(Matrix& matrix) {
        return static_cast<T*>(matrix.at(0, 0));
    }

    template <class T>
    void iterate() {
        const auto n = static_cast<Eigen::Index>(system.n());
        if (system.dense) {
            apportion::product(*system.dense, pointer<T>(x), pointer<T>(product));
        } else {
            const SparseMatrix& s = *system.sparse;
            const EigenSparse a(n, n, static_cast<Eigen::Index>(s.values.size()), start.data(), s.columns.data(),
                                s.values.data());
            Eigen::Map<Eigen::VectorXd>(pointer<double>(product), n).noalias() =
                a * Eigen::Map<Eigen::VectorXd>(pointer<double>(x), n);
        }
        using Vector = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
        const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> b(static_cast<const T*>(system.b.at(0, 0)), n);
        Vector(pointer<T>(x), n) += (b - Vector(pointer<T>(product), n)) / Vector(pointer<T>(diagonal), n);
    }
};

LibraryJacobi::LibraryJacobi(const LinearSystem& system, int threads)
    : state_(new State{system,
                       threads,
                       diagonal_of(system),
                       Matrix(system.type(), system.n(), 1),
                       Matrix(system.type(), system.n(), 1),
                       {}}) {
    if (system.sparse) state_->start.assign(system.sparse->start.begin(), system.sparse->start.end());
}

LibraryJacobi::~LibraryJacobi() = default;

void LibraryJacobi::run(int iterations) {
    openblas_set_num_threads(state_->threads);
    by_real_type(state_->system.type(), [&]<class T>() {
        state_->x.for_each_column<T>([&](T* x, std::size_t) { std::fill_n(x, state_->system.n(), T(0)); });
        for (int i = 0; i < iterations; ++i) state_->iterate<T>();
    });
    openblas_set_num_threads(1);
}

std::string LibraryJacobi::name() const {
    if (state_->system.sparse) return "Eigen's sparse product and a loop, 1 thread";
    return "OpenBLAS gemv and a loop, " + counted(state_->threads, "thread");
}

const Matrix& LibraryJacobi::x() const { return state_->x; }

}  // namespace apportion
