// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The C interface of apportion_mpi.h: MPI, StarPU and StarPU-MPI started and ended together, and errors that are the
// same on all ranks.
#include "policies/mpi/session.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/config.hpp"
#include "policies/engine/recovery.hpp"
#include "policies/mpi/iteration.hpp"
#include "policies/mpi/nodes_load.hpp"
#include "policies/starpu/error.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/report.hpp"
#include "policies/starpu/watch.hpp"

namespace apportion {

namespace {

// Nothing that threads use has a static destructor: they go on while one of them calls exit().
std::string& last_error = *new std::string("no error");
std::atomic<int> ended_rank = 0, ended_nodes = 0;  ///< once MPI has ended
Post* post = nullptr;                              ///< until apportion_mpi_shutdown

void set_last_error(const std::string& sentence) { last_error = shown(sentence); }

/// Runs `body`. An ApiError that it throws is the same on all ranks; of anything else only this one knows, and others
/// may wait for it.
template <class Body>
int agreed(Body&& body) noexcept {
    try {
        body();
        return 0;
    } catch (const ApiError& error) {
        set_last_error(error.what());
        return -error.error_number();
    } catch (const std::exception& error) {
        abort_job(error.what());
    } catch (...) {  // IPOPT's are no std::exception
        abort_job("an exception of an unknown type");
    }
}

/// `body`, once all ranks have come to the same `call`.
template <class Body>
int together(const std::string& call, Body&& body) noexcept {
    return agreed([&] {
        World::get().meet(call);
        body();
    });
}

/// A core for StarPU-MPI's thread, which is busy while messages are awaited, as starpu_mpi_init_conf does it. False:
/// the user says how many cores work.
bool leave_core(starpu_conf& conf) {
    conf.will_use_mpi = 1;
    if (conf.ncpus != -1 || std::getenv("STARPU_NCPU") || std::getenv("STARPU_NCPUS")) return false;
    conf.reserve_ncpus = conf.reserve_ncpus == -1 ? 1 : conf.reserve_ncpus + 1;
    return true;
}

/// What apportion_init says, where StarPU-MPI has taken the only core.
std::string why_not_started(int status, bool core_left) {
    const std::string problem = apportion_error();
    if (status != -ENODEV || !core_left) return problem;
    return problem +
           "; a core is left to StarPU-MPI, and mpirun may have bound each process to one, which --bind-to none "
           "prevents";
}

void start(starpu_conf* conf) {
    World& world = World::get();
    if (post) throw ApiError(EALREADY, "apportion_mpi_init has been called before");
    starpu_conf own;
    if (!conf) {
        starpu_conf_init(&own);
        conf = &own;
    }
    const bool core_left = world.size() > 1 && World::takes_core() && leave_core(*conf);
    // Rank 0 lists the schedulers for all.
    const char* const scheduler = std::getenv("STARPU_SCHED");
    const bool listed = world.rank() > 0 && scheduler && std::string_view(scheduler) == "help";
    const int status = listed ? -ECANCELED : apportion_init(conf);
    const std::string problem = status == 0 ? ""
                                : listed    ? "STARPU_SCHED=help is not for this rank alone"
                                            : why_not_started(status, core_left);
    int of_home = status;
    world.share(&of_home, sizeof of_home);
    if (const std::string sentence = agreed_sentence(world, problem); !sentence.empty()) {
        if (status == 0) apportion_shutdown();
        const bool only_listed = of_home == -ECANCELED;
        throw ApiError(only_listed ? ECANCELED : status == 0 || listed ? EIO : -status, sentence);
    }
    const std::string wrong = world.start_starpu_mpi();
    if (const std::string sentence = agreed_sentence(world, wrong); !sentence.empty()) {
        apportion_shutdown();
        throw ApiError(EIO, sentence);
    }
    post = new Post(world.of_grants());
}

}  // namespace

Post& running_post() {
    if (!post) throw ApiError(EINVAL, "apportion_mpi_init must be called first");
    return *post;
}

std::string agreed_sentence(const World& world, const std::string& problem) {
    const bool named = !problem.empty() && world.rank() > 0;
    for (const std::string& its :
         world.gather(named ? fmt::format("rank {} ({}): {}", world.rank(), host_name(), problem) : problem))
        if (!its.empty()) return its;
    return {};
}

void abort_job(const std::string& sentence) {
    fmt::print(stderr, "apportion: {}\n", shown(sentence));
    World::abort();
}

class Deadline::Alarm final : public Watched {
  public:
    Alarm(std::string sentence, double seconds)
        : sentence_(std::move(sentence)), at_us_(starpu_timing_now() - stood_still_us() + seconds * 1e6) {}
    static void set(const std::shared_ptr<Alarm>& self) {
        self->self_ = self;
        wake_at(self, self->at_us_ + stood_still_us());
    }
    void look(double) noexcept override {
        if (starpu_timing_now() >= at_us_ + stood_still_us()) abort_job(sentence_);
        wake_at(self_, at_us_ + stood_still_us());
    }

  private:
    const std::string sentence_;
    const double at_us_;  ///< less what the program had stood still
    std::weak_ptr<Alarm> self_;
};

Deadline::Deadline(std::string sentence, double seconds)
    : alarm_(std::make_shared<Alarm>(std::move(sentence), seconds)) {
    Alarm::set(alarm_);
}

std::string a_task_of(const World& world, const std::string& load) {
    return fmt::format("rank {} ({}): a task of load '{}'", world.rank(), host_name(), load);
}

std::optional<Deadline> deadline_of(const std::string& task, double run_s, Awaited which) {
    const double factor = stall_factor_option();
    if (factor <= 0) return std::nullopt;
    const bool given_up = which == Awaited::given_up;
    const double stalls_s = std::max(Recovery(factor, 1).silence_s(), factor * run_s);
    const double limit_s = given_up ? stalls_s : stalls_s + stalls_s;
    return std::optional<Deadline>(
        std::in_place,
        fmt::format("{} that {} has not ended after another {:g} s: it hangs, and the job ends; a larger "
                    "APPORTION_STALL_FACTOR waits longer",
                    task, given_up ? "was given up" : "others have computed again", limit_s),
        limit_s);
}

void report_to_file(const std::string& file, const std::string& report) {
    try {
        append_report(file, report);
    } catch (const ApiError& error) {
        fmt::print(stderr, "apportion: {}\n", shown(error.what()));
    }
}

}  // namespace apportion

using namespace apportion;

namespace {

std::pair<int, int> rank_and_nodes() {
    if (!World::runs() && ended_nodes > 0) return {ended_rank, ended_nodes};
    std::pair<int, int> its{0, 1};
    agreed([&] { its = World::rank_and_size(); });
    return its;
}

/// A call of a load or an iteration, with what it is given besides. `body` returns the sentence that all ranks agree
/// on, or nothing.
template <class Load, class Body>
int together_on(Load* load, const std::string& call, const std::string& given, int error_number, Body&& body) noexcept {
    return together(fmt::format("{} of {}{}", call, load ? load->called() : "NULL", given), [&] {
        if (!load) throw ApiError(EINVAL, call + ": the load is NULL; was it created?");
        if (const std::string sentence = body(*load); !sentence.empty()) throw ApiError(error_number, sentence);
    });
}

std::string with(const apportion_mpi_iteration* iteration, const apportion_mpi_distributed* arrays, unsigned count) {
    return iteration ? " with the arrays " + iteration->facts_of(arrays, count).dump() : "";
}

}  // namespace

extern "C" {

int apportion_mpi_init(starpu_conf* conf) {
    return together("apportion_mpi_init", [&] { start(conf); });
}

void apportion_mpi_shutdown(void) {
    // Until all others have come here, too: they are told that this rank ends.
    while (World::runs() && together("apportion_mpi_shutdown", [] {}) == -EINVAL) continue;
    if (World::runs()) {
        ended_rank = World::rank_and_size().first;
        ended_nodes = World::rank_and_size().second;
    }
    World::stop_starpu_mpi();
    delete std::exchange(post, nullptr);
    apportion_shutdown();
    World::finish();
}

int apportion_mpi_rank(void) { return rank_and_nodes().first; }

int apportion_mpi_nodes(void) { return rank_and_nodes().second; }

int apportion_mpi_agree(const char* problem) {
    return together("apportion_mpi_agree", [&] {
        const std::string sentence = agreed_sentence(World::get(), problem ? problem : "");
        if (!sentence.empty()) throw ApiError(ECANCELED, sentence);
    });
}

int apportion_mpi_share(void* data, size_t bytes) {
    const bool missing = !data && bytes > 0;
    return together(fmt::format("apportion_mpi_share of {}{}", counted(bytes, "byte"), missing ? " at NULL" : ""), [&] {
        if (missing) throw ApiError(EINVAL, "apportion_mpi_share: data is NULL");
        World::get().share(data, bytes);
    });
}

apportion_mpi_load* apportion_mpi_load_create(const apportion_load_options* options, const apportion_mpi_array* arrays,
                                              unsigned count) {
    apportion_mpi_load* load = nullptr;
    if (const int error =
            together("apportion_mpi_load_create", [&] { load = new apportion_mpi_load(options, arrays, count); }))
        errno = -error;
    return load;
}

int apportion_mpi_load_run(apportion_mpi_load* load) {
    return together_on(load, "apportion_mpi_load_run", "", EIO, [](auto& its) { return its.run(); });
}

const char* apportion_mpi_load_report(apportion_mpi_load* load) { return load ? load->report() : "{}"; }

double apportion_mpi_load_seconds(apportion_mpi_load* load) { return load ? load->seconds() : 0; }

void apportion_mpi_load_destroy(apportion_mpi_load* load) { delete load; }

apportion_mpi_iteration* apportion_mpi_iteration_create(const apportion_load_options* options,
                                                        const apportion_mpi_distributed* arrays, unsigned count) {
    apportion_mpi_iteration* iteration = nullptr;
    if (const int error = together("apportion_mpi_iteration_create",
                                   [&] { iteration = new apportion_mpi_iteration(options, arrays, count); }))
        errno = -error;
    return iteration;
}

int apportion_mpi_iteration_run(apportion_mpi_iteration* iteration) {
    return together_on(iteration, "apportion_mpi_iteration_run", "", EIO, [](auto& its) { return its.run(); });
}

int apportion_mpi_iteration_exchange(apportion_mpi_iteration* iteration, const apportion_mpi_distributed* arrays,
                                     unsigned count) {
    return together_on(iteration, "apportion_mpi_iteration_exchange", with(iteration, arrays, count), EINVAL,
                       [&](auto& its) { return its.exchange(arrays, count); });
}

int apportion_mpi_iteration_collect(apportion_mpi_iteration* iteration, const apportion_mpi_distributed* arrays,
                                    unsigned count) {
    const std::string sources = iteration ? iteration->sources_of(arrays, count) : "";
    return together_on(iteration, "apportion_mpi_iteration_collect", with(iteration, arrays, count) + sources, EINVAL,
                       [&](auto& its) { return its.collect(arrays, count); });
}

void apportion_mpi_iteration_range(apportion_mpi_iteration* iteration, uint64_t* first, uint64_t* units) {
    const UnitRange range = iteration ? iteration->range() : UnitRange{};
    *first = static_cast<uint64_t>(range.first);
    *units = static_cast<uint64_t>(range.units);
}

int apportion_mpi_largest(double* values, unsigned count) {
    const bool missing = !values && count > 0;
    return together(fmt::format("apportion_mpi_largest of {} values{}", count, missing ? " at NULL" : ""), [&] {
        if (missing) throw ApiError(EINVAL, "apportion_mpi_largest: values is NULL");
        std::string mine(count * sizeof *values, '\0');
        if (count > 0) std::memcpy(mine.data(), values, mine.size());
        for (const std::string& its : World::get().gather(mine)) {
            if (its.size() != mine.size())  // in a simulation, where ranks do not compare what they call
                throw ApiError(EINVAL, "apportion_mpi_largest: ranks differ in how many values they give");
            for (unsigned k = 0; k < count; ++k) {
                double value = 0;
                std::memcpy(&value, its.data() + k * sizeof value, sizeof value);
                if (std::isnan(value) || value > values[k]) values[k] = value;
            }
        }
    });
}

const char* apportion_mpi_iteration_report(apportion_mpi_iteration* iteration) {
    return iteration ? iteration->report() : "{}";
}

double apportion_mpi_iteration_seconds(apportion_mpi_iteration* iteration) {
    return iteration ? iteration->seconds() : 0;
}

void apportion_mpi_iteration_destroy(apportion_mpi_iteration* iteration) { delete iteration; }

const char* apportion_mpi_error(void) { return last_error.c_str(); }

}  // extern "C"
