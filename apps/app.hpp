// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the bundled applications have in common: options, starting StarPU, timing a workload as a load, verification,
// and the report for people or as JSON. Exit codes: 0 fine, 1 the run or its verification failed, 2 the user has to
// change something (options, files, environment). Errors are one sentence on standard error.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codelets/common/codelet.hpp"
#include "codelets/common/flavour.hpp"
#include "models/io/user_error.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace apportion {

struct AppOptions {
    bool json = false;
    int repeat = 0;  ///< 0: not given
    std::uint64_t seed = 1;
    bool verify = true;
    std::string peer{};  ///< what is timed in turn; empty: nothing
};

void add_app_options(CLI::App& cli, AppOptions& options);

/// `--peer`: `what` is timed in turn with the load; of several, one of `choices`.
void add_peer(CLI::App& cli, AppOptions& options, const std::string& what,
              const std::vector<std::string>& choices = {});

/// Throws UserError where a simulation is to time a peer, or to read or write one of these files.
void refuse_in_simulation(const AppOptions& options, std::initializer_list<std::pair<const char*, std::string>> files);

/// An option that has one of these values; `value` has its default.
CLI::Option* add_choice(CLI::App& cli, const std::string& name, std::string& value, const std::string& description,
                        const std::vector<std::string>& choices);

/// `--size`: whole numbers from 1 to `most` with commas between them, as many as one of `counts`. Throws UserError,
/// which says `what` to give.
std::vector<std::uint64_t> parse_size(const std::string& text, std::initializer_list<std::size_t> counts,
                                      const char* what, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// `--out`: throws UserError when a regular file of that name cannot be made: to be called before long work. No name is
/// fine.
void check_output(const std::string& file);

/// StarPU, running while this lives, with the handicaps of APPORTION_HANDICAP. Throws UserError.
class StarpuSession {
  public:
    StarpuSession();
    ~StarpuSession();
    StarpuSession(const StarpuSession&) = delete;
    StarpuSession& operator=(const StarpuSession&) = delete;
};

/// Another way to the same result, timed in turn with the load.
struct Peer {
    std::string name;
    std::function<void()> run;
};

struct Outcome {
    std::string policy;
    std::vector<double> seconds;  ///< of each run, in order
    std::vector<double> peer_seconds;
    std::string peer_name;
    std::optional<Verification> verification;  ///< the worst of all runs
    nlohmann::ordered_json report;             ///< the engine's, of the median run; of several loads "parts", in order
};

double median_seconds(std::vector<double> values);

/// Whether this rank has a result and is to write it to this file.
bool is_to_be_written(const Outcome& outcome, const std::string& file);

inline constexpr int kPeerRuns = 5;  ///< where there is a peer and --repeat is not given

/// What a run does, and what its speed is counted in.
struct Work {
    double amount = 0;
    const char* unit = "GFLOP/s";  ///< for people: amount * scale a second
    const char* key = "gflops";    ///< in the JSON object, the same number
    double scale = 1e-9;

    Work(double operations) : amount(operations) {}
    Work(double amount_, const char* unit_, const char* key_, double scale_)
        : amount(amount_), unit(unit_), key(key_), scale(scale_) {}
};

/// Seconds that it takes, by StarPU's clock.
double seconds_of(const std::function<void()>& body);

/// Seconds of the peer, while StarPU's workers sleep.
double time_peer(const Peer& peer);

/// Warms up, then runs the load options.repeat times (where that is not given once, with a peer kPeerRuns times),
/// verifying each result. With `advance`, the runs are the iterations of one computation: it is called after each to
/// make the result the next one's input, and only the last is verified.
Outcome run_load(Workload& workload, const AppOptions& options, const std::optional<Peer>& peer = {},
                 const std::function<void()>& advance = {});

/// The same for loads that run one after the other: the last one verifies the result of all, and seconds are those of
/// all together.
Outcome run_loads(std::span<Workload* const> workloads, const AppOptions& options, const std::optional<Peer>& peer = {},
                  const std::function<void()>& advance = {});

/// Prints the outcome; `head` begins the JSON object ("app", "size", ...), `title` the table. Returns the exit code.
int print_outcome(const Outcome& outcome, const AppOptions& options, const Work& work, nlohmann::ordered_json head,
                  const std::string& title);

/// Parses the arguments and runs `body`, turning exceptions into sentences and exit codes.
int run_app(CLI::App& cli, int argc, char** argv, const std::function<int()>& body);

}  // namespace apportion
