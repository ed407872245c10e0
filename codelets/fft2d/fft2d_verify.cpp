// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fftw3.h>

#include <cmath>
#include <complex>
#include <limits>
#include <stdexcept>

#include "codelets/fft2d/fft2d.hpp"
#include "codelets/fft2d/fftw.hpp"

namespace apportion {

namespace {

int to_int(std::size_t n) { return static_cast<int>(n); }

/// A plan and its end. Plans are made on the main thread, while no workload is being constructed.
template <class T>
class Plan {
  public:
    explicit Plan(typename Fftw<T>::Plan plan) : plan_(plan) {
        if (!plan_) throw std::runtime_error("FFTW has no plan for the whole matrix");
    }
    ~Plan() { Fftw<T>::destroy(plan_); }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    void execute(const Matrix& in, Matrix& out) const { Fftw<T>::execute(plan_, pointer(in), pointer(out)); }

    static auto* pointer(const Matrix& matrix) {
        return Fftw<T>::complex(static_cast<const std::complex<T>*>(matrix.at(0, 0)));
    }

  private:
    typename Fftw<T>::Plan plan_;
};

template <class T>
std::unique_ptr<Plan<T>> plan_whole(const Fft2dProblem& p, Matrix& out, FftPlanning planning) {
    const int size[2] = {to_int(p.rows()), to_int(p.columns())};
    const int in_ld[2] = {size[0], to_int(p.input.ld())}, out_ld[2] = {size[0], to_int(out.ld())};
    Matrix like_input(p.input.type(), p.columns(), p.rows());  // planning may overwrite
    return std::make_unique<Plan<T>>(Fftw<T>::plan_many(
        2, size, 1, Plan<T>::pointer(like_input), in_ld, 1, 0, Plan<T>::pointer(out), out_ld, 1, 0,
        p.inverse ? FFTW_BACKWARD : FFTW_FORWARD, (fftw_flags(planning) & ~FFTW_UNALIGNED) | FFTW_PRESERVE_INPUT));
}

/// Every row of the input into a column of `out`, by a plan that does it all.
template <class T>
std::unique_ptr<Plan<T>> plan_rows(const Fft2dProblem& p, Matrix& out) {
    const int length = to_int(p.columns());
    return std::make_unique<Plan<T>>(
        Fftw<T>::plan_many(1, &length, to_int(p.rows()), Plan<T>::pointer(p.input), nullptr, 1, to_int(p.input.ld()),
                           Plan<T>::pointer(out), nullptr, to_int(out.ld()), 1,
                           p.inverse ? FFTW_BACKWARD : FFTW_FORWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT));
}

/// The largest difference of `result` from scale * reference, relative to the reference's root mean square.
template <class T>
Verification compare(const Matrix& result, const Matrix& reference, double scale) {
    double worst = 0, squares = 0;
    for (std::size_t j = 0; j < result.columns(); ++j) {
        const auto* x = static_cast<const std::complex<T>*>(result.at(0, j));
        const auto* y = static_cast<const std::complex<T>*>(reference.at(0, j));
        for (std::size_t i = 0; i < result.rows(); ++i) {
            const std::complex<double> should(scale * y[i].real(), scale * y[i].imag());
            const double difference = std::abs(std::complex<double>(x[i].real(), x[i].imag()) - should);
            worst = worse(worst, difference);
            squares += std::norm(should);
        }
    }
    // Rounding errors of a transform are Gaussian with a deviation below epsilon sqrt(log2(elements)).
    constexpr double kDeviations = 8;
    const double elements = static_cast<double>(result.rows()) * static_cast<double>(result.columns());
    return {worst == 0 ? 0 : worst / std::sqrt(squares / elements),
            kDeviations * std::numeric_limits<T>::epsilon() * std::sqrt(std::log2(elements) + 1)};
}

template <class T>
Verification verify_whole(const Fft2dProblem& p) {
    Matrix reference(p.output.type(), p.output.rows(), p.output.columns());
    plan_whole<T>(p, reference, FftPlanning::estimate)->execute(p.input, reference);
    const double elements = static_cast<double>(p.rows()) * static_cast<double>(p.columns());
    return compare<T>(p.output, reference, p.inverse ? 1 / elements : 1);
}

template <class T>
Verification verify_rows(const Fft2dProblem& p) {
    Matrix reference(p.middle.type(), p.middle.rows(), p.middle.columns());
    plan_rows<T>(p, reference)->execute(p.input, reference);
    return compare<T>(p.middle, reference, p.inverse ? 1 / static_cast<double>(p.columns()) : 1);
}

template <class T>
std::function<void()> one_call(const std::shared_ptr<Fft2dProblem>& problem, int threads, FftPlanning planning) {
    if (!Fftw<T>::init_threads()) throw std::runtime_error("FFTW's threads do not start");
    Fftw<T>::plan_with_threads(threads);
    std::shared_ptr<Plan<T>> plan = plan_whole<T>(*problem, problem->output, planning);
    Fftw<T>::plan_with_threads(1);
    return [plan, problem] { plan->execute(problem->input, problem->output); };
}

}  // namespace

Verification verify_fft2d(const Fft2dProblem& problem) {
    return by_real_type(problem.input.type(), [&]<class T>() { return verify_whole<T>(problem); });
}

Verification verify_fft2d_rows(const Fft2dProblem& problem) {
    return by_real_type(problem.input.type(), [&]<class T>() { return verify_rows<T>(problem); });
}

std::function<void()> fft2d_by_one_call(const std::shared_ptr<Fft2dProblem>& problem, int threads,
                                        FftPlanning planning) {
    return by_real_type(problem->input.type(), [&]<class T>() { return one_call<T>(problem, threads, planning); });
}

}  // namespace apportion
