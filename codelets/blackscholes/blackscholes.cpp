// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/blackscholes/blackscholes.hpp"

#include <utility>

#include "codelets/blackscholes/blackscholes_buffers.hpp"
#include "codelets/common/handicap.hpp"
#include "codelets/common/kernel_codelet.hpp"
#include "codelets/common/random.hpp"

namespace apportion {

namespace {

starpu_codelet& blackscholes_codelet() {
    static KernelCodelet codelet("blackscholes", "blackscholes", APPORTION_KERNELS(blackscholes_cpu, blackscholes_cuda),
                                 {STARPU_R, STARPU_W});
    return codelet.get();
}

std::uint64_t options_of(const starpu_task* task) { return starpu_matrix_get_nx(task->handles[0]); }

class BlackScholes final : public Workload {
  public:
    explicit BlackScholes(std::shared_ptr<BlackScholesProblem> problem);

    starpu_codelet& codelet() override { return blackscholes_codelet(); }
    std::vector<TaskData> data(const TaskRange& range) override;
    const void* argument_with_range() override { return &problem_->parameters; }
    void spoil_result() override { fill_nan(problem_->results); }
    Verification verify() override { return verify_blackscholes(*problem_); }

  private:
    std::shared_ptr<BlackScholesProblem> problem_;
    PinnedMatrix pinned_[2];
};

BlackScholes::BlackScholes(std::shared_ptr<BlackScholesProblem> problem)
    : problem_(std::move(problem)), pinned_{problem_->options.pin(), problem_->results.pin()} {
    BlackScholesProblem& p = *problem_;
    shape_.name = "blackscholes";
    shape_.units = p.options.rows();
    shape_.operations_per_unit = blackscholes_operations(p.parameters);
    shape_.bytes_per_unit = element_size(p.options.type()) * (p.options.columns() + p.results.columns());
    if constexpr (kSimulated)
        simulated::install(codelet(), "blackscholes", {.n = static_cast<double>(shape_.units)}, options_of);
}

std::vector<TaskData> BlackScholes::data(const TaskRange& range) {
    const auto rows_of = [&](Matrix& matrix, int mode) {
        return part_of(matrix, mode, {range.first, range.units, 0, matrix.columns()});
    };
    return {rows_of(problem_->options, STARPU_R), rows_of(problem_->results, STARPU_W)};
}

/// Number `draw` of option `i`, uniform in [0, 1).
double uniform(std::uint64_t seed, std::uint64_t i, std::uint64_t draw) {
    return static_cast<double>(mix(seed * 0x2545f4914f6cdd1du + i * kOptionColumns + draw) >> 11) * 0x1p-53;
}

template <class T>
void fill(BlackScholesProblem& p) {
    const auto column = [&](std::size_t c) { return static_cast<T*>(p.options.at(0, c)); };
    for (std::size_t i = 0; i < p.options.rows(); ++i) {
        const auto between = [&](std::size_t draw, double low, double high) {
            return low + (high - low) * uniform(p.parameters.seed, i, draw);
        };
        const double spot = between(kSpot, 50, 150);
        const double strike = spot * between(kSignedStrike, 0.7, 1.3);
        column(kSpot)[i] = static_cast<T>(spot);
        column(kSignedStrike)[i] = static_cast<T>(i % 2 == 0 ? strike : -strike);
        column(kRate)[i] = static_cast<T>(between(kRate, 0, 0.1));
        column(kVolatility)[i] = static_cast<T>(between(kVolatility, 0.1, 0.6));
        column(kExpiry)[i] = static_cast<T>(between(kExpiry, 0.1, 3));
    }
}

void price(const OptionBlock<float>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels().price_float(block, parameters);
}
void price(const OptionBlock<double>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels().price_double(block, parameters);
}

template <class T>
void price_all(BlackScholesProblem& p) {
    price(OptionBlock<T>{static_cast<const T*>(p.options.at(0, 0)), p.options.ld(), static_cast<T*>(p.results.at(0, 0)),
                         p.results.ld(), p.options.rows(), 0},
          p.parameters);
}

}  // namespace

void blackscholes_cpu(void* buffers[], void* arg) {
    const auto& argument = *static_cast<const KernelArgument*>(arg);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        by_real_size(STARPU_MATRIX_GET_ELEMSIZE(buffers[0]),
                     [&]<class T>() { price(option_block<T>(buffers, argument), blackscholes_parameters(argument)); });
}

void price_by_one_call(BlackScholesProblem& problem) {
    by_real_type(problem.options.type(), [&]<class T>() { price_all<T>(problem); });
}

double blackscholes_operations(const BlackScholesParameters& parameters) {
    // Counted in the formulas; a path's share of Philox, logarithm, root, sine and cosine is in it.
    constexpr double kClosedForm = 220;
    constexpr double kPath = 75;
    return parameters.paths > 0 ? kPath * static_cast<double>(parameters.paths) : kClosedForm;
}

Matrix blackscholes_results(ElementType type, std::size_t options, const BlackScholesParameters& parameters) {
    // The platforms' descriptions say that an option gives back one number.
    return Matrix(type, options, parameters.paths > 0 && !kSimulated ? 2 : 1);
}

BlackScholesProblem random_blackscholes(ElementType type, std::size_t options,
                                        const BlackScholesParameters& parameters) {
    require_free_memory(matrix_bytes(type, options, kOptionColumns + 2), "the options");
    BlackScholesProblem problem{Matrix(type, options, kOptionColumns), blackscholes_results(type, options, parameters),
                                parameters};
    if (!kSimulated) by_real_type(type, [&]<class T>() { fill<T>(problem); });
    return problem;
}

std::unique_ptr<Workload> make_blackscholes(std::shared_ptr<BlackScholesProblem> problem) {
    return std::make_unique<BlackScholes>(std::move(problem));
}

std::unique_ptr<Workload> make_blackscholes(const WorkloadOptions& options) {
    return make_blackscholes(std::make_shared<BlackScholesProblem>(
        random_blackscholes(ElementType::float64, options.sizes(1).front(), {kDefaultPaths, options.seed})));
}

}  // namespace apportion
