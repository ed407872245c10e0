// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <starpu.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <new>
#include <numeric>
#include <thread>

#include "apps/nodes.hpp"
#include "codelets/common/handicap.hpp"
#include "codelets/io/command_line.hpp"
#include "codelets/io/progress.hpp"
#include "codelets/io/terminal.hpp"
#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/io/text_file.hpp"

namespace apportion {

namespace {

/// STARPU_SCHED=help has printed its list.
struct NothingToRun {};

void keep_worst(std::optional<Verification>& worst, const Verification& verification) {
    if (!worst || worst->max_error < verification.max_error || (worst->correct && !verification.correct))
        worst = verification;
}

std::size_t median_index(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    return order[(order.size() - 1) / 2];
}

nlohmann::ordered_json report_of(const std::vector<std::unique_ptr<NodesLoad>>& loads) {
    if (loads.size() == 1) return loads.front()->report();
    auto parts = nlohmann::ordered_json::array();
    for (const auto& load : loads) parts.push_back(load->report());
    return {{"parts", parts}};
}

/// In the unit of the table, whatever that of the JSON object is.
double speed(const Work& work, double seconds) { return seconds > 0 ? work.amount / seconds * work.scale : 0; }

nlohmann::ordered_json outcome_json(const Outcome& outcome, const Work& work, nlohmann::ordered_json json) {
    const double seconds = median_seconds(outcome.seconds);
    json["policy"] = outcome.policy;
    json["seconds"] = seconds;
    json[work.key] = speed(work, seconds);
    json["runs"] = outcome.seconds;
    json["verified"] = nullptr;
    json["max_error"] = nullptr;
    if (outcome.verification) {
        json["verified"] = outcome.verification->correct;
        json["max_error"] = outcome.verification->max_error;
        json["tolerance"] = outcome.verification->tolerance;
    }
    if (!outcome.peer_seconds.empty()) {
        const double peer_s = median_seconds(outcome.peer_seconds);
        json["peer"] = {{"name", outcome.peer_name},
                        {"seconds", peer_s},
                        {work.key, speed(work, peer_s)},
                        {"runs", outcome.peer_seconds},
                        {"speed_ratio", peer_s / seconds}};
    }
    json["report"] = outcome.report;
    return json;
}

void print_processors(const nlohmann::ordered_json& report) {
    constexpr std::size_t kNames = 32;  // columns
    double units = 0;
    for (const auto& processor : report.at("processors")) units += processor.at("units").get<double>();
    fmt::print("  {} {:>10} {:>8} {:>7} {:>8}\n", padded("processor", kNames), "units", "share", "blocks", "idle");
    const auto devices_of = [&](std::size_t node) {
        const auto nodes = report.find("nodes");
        const bool known = nodes != report.end() && node < nodes->size() && (*nodes)[node].contains("processors");
        return known ? (*nodes)[node].at("processors") : nlohmann::ordered_json::array();
    };
    std::size_t node = 0;
    for (const auto& processor : report.at("processors")) {
        fmt::print("  {} {:>10} {:>6.1f} % {:>7} {:>6.1f} %\n",
                   padded(shown(processor.at("name").get<std::string>()), kNames),
                   processor.at("units").get<std::int64_t>(), 100 * processor.at("units").get<double>() / units,
                   processor.at("blocks").get<std::int64_t>(), processor.at("idle_percent").get<double>());
        for (const auto& device : devices_of(node++))
            fmt::print("    {} {:>10} {:>17} {:>6.1f} %\n",
                       padded(shown(device.at("name").get<std::string>()), kNames - 2),
                       device.at("units").get<std::int64_t>(), device.at("blocks").get<std::int64_t>(),
                       device.at("idle_percent").get<double>());
    }
}

/// None where a plan of rectangles was computed.
void print_lost(const nlohmann::ordered_json& report) {
    if (!report.contains("lost_processors")) return;
    for (const auto& lost : report.at("lost_processors"))
        fmt::print("  {} got no more blocks from {:.4g} s on: {}\n", shown(lost.at("name").get<std::string>()),
                   lost.at("at_seconds").get<double>(), shown(lost.at("reason").get<std::string>()));
}

/// What `auto` chose.
void print_choice(const nlohmann::ordered_json& report) {
    const auto choice = report.find("choice");
    if (choice == report.end() || !choice->is_string()) return;
    const std::string note = report.value("note", "");
    fmt::print("  chose {}{}{}\n", choice->get<std::string>(), note.empty() ? "" : ": ", shown(note));
}

void print_report(const nlohmann::ordered_json& report) {
    print_choice(report);
    print_processors(report);
    print_lost(report);
}

void print_table(const Outcome& outcome, const Work& work, const std::string& title) {
    const double seconds = median_seconds(outcome.seconds);
    fmt::print("{}\n", title);
    fmt::print("  {:<12} {:.4g} s  {:.4g} {}", outcome.policy, seconds, speed(work, seconds), work.unit);
    if (outcome.seconds.size() > 1)
        fmt::print("  (median of {}; first {:.4g} s)", outcome.seconds.size(), outcome.seconds.front());
    fmt::print("\n");
    if (!outcome.peer_seconds.empty()) {
        const double peer_s = median_seconds(outcome.peer_seconds);
        fmt::print("  {}: {:.4g} s  {:.4g} {}; {} reaches {:.1f} % of its speed\n", outcome.peer_name, peer_s,
                   speed(work, peer_s), work.unit, outcome.policy, 100 * peer_s / seconds);
    }
    if (outcome.report.contains("parts"))
        for (const auto& part : outcome.report.at("parts")) {
            fmt::print("  {} units in {:.4g} s\n", part.at("units").get<std::int64_t>(),
                       part.at("makespan_seconds").get<double>());
            print_report(part);
        }
    else
        print_report(outcome.report);
    if (outcome.verification)
        fmt::print("  verified: {} (largest error {:.2g}, tolerance {:.2g})\n",
                   outcome.verification->correct ? "yes" : "NO", outcome.verification->max_error,
                   outcome.verification->tolerance);
    else
        fmt::print("  verified: no, {}\n", kSimulated ? "a simulation computes nothing" : "as asked");
}

}  // namespace

void add_app_options(CLI::App& cli, AppOptions& options) {
    cli.set_version_flag("--version", cli.get_name() + " " APPORTION_VERSION);
    cli.add_flag("--json", options.json, "print one JSON object on standard output and nothing else there");
    cli.add_option("--repeat", options.repeat,
                   fmt::format("submit the load R times and report the median (default: 1, with --peer {})", kPeerRuns))
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("R");
    cli.add_option("--seed", options.seed, "of generated data")
        ->check(seeds())
        ->capture_default_str()
        ->type_name("SEED");
    cli.add_flag("!--no-verify", options.verify, "do not compare the result with a reference");
}

void add_peer(CLI::App& cli, AppOptions& options, const std::string& what, const std::vector<std::string>& choices) {
    const std::string text = fmt::format("time {} in turn with the load", what);
    if (choices.empty())
        cli.add_flag("--peer", options.peer, text)->disable_flag_override();
    else
        cli.add_option("--peer", options.peer, text)
            ->check(CLI::IsMember(choices))
            ->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

void refuse_in_simulation(const AppOptions& options, std::initializer_list<std::pair<const char*, std::string>> files) {
    bool asked = !options.peer.empty();
    std::vector<const char*> names;
    for (const auto& [name, file] : files) {
        asked = asked || !file.empty();
        names.push_back(name);
    }
    if (kSimulated && asked)
        throw UserError("a simulation computes nothing: {} and --peer need the real flavour", fmt::join(names, ", "));
}

CLI::Option* add_choice(CLI::App& cli, const std::string& name, std::string& value, const std::string& description,
                        const std::vector<std::string>& choices) {
    return cli.add_option(name, value, description)
        ->check(CLI::IsMember(choices))
        ->capture_default_str()
        ->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

std::vector<std::uint64_t> parse_size(const std::string& text, std::initializer_list<std::size_t> counts,
                                      const char* what, std::uint64_t most) {
    std::vector<std::uint64_t> sizes;
    for (const std::string_view part : split(text, ',')) {
        sizes.push_back(parse_number<std::uint64_t>(part).value_or(0));
        if (sizes.back() < 1 || sizes.back() > most)
            throw UserError("--size {}: give whole numbers from 1 to {}, with commas between them", text, most);
    }
    if (std::ranges::find(counts, sizes.size()) == counts.end()) throw UserError("--size {}: give {}", text, what);
    return sizes;
}

void check_output(const std::string& file) {
    if (file.empty()) return;
    try {
        require_writable(file);
    } catch (const FileError& error) {
        throw UserError("--out {}", error.what());
    }
}

StarpuSession::StarpuSession() {
    try {
        Nodes::here().start();
        Nodes::here().agreed([] { apply_handicaps(); });
    } catch (const Error& error) {
        if (error.error_number() == ECANCELED) throw NothingToRun{};
        throw UserError(error.what());
    } catch (const std::exception& error) {
        throw UserError(error.what());
    }
}

StarpuSession::~StarpuSession() { Nodes::here().stop(); }

bool is_to_be_written(const Outcome& outcome, const std::string& file) {
    return Nodes::here().home() && !file.empty() && (!outcome.verification || outcome.verification->correct);
}

double median_seconds(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

double seconds_of(const std::function<void()>& body) {
    const double begin_us = starpu_timing_now();
    body();
    return (starpu_timing_now() - begin_us) * 1e-6;
}

double time_peer(const Peer& peer) {
    // The time after which the peer's idle threads sleep instead of spinning on the workers' cores.
    constexpr auto kSettle = std::chrono::milliseconds(100);
    starpu_pause();
    const double seconds = seconds_of(peer.run);
    std::this_thread::sleep_for(kSettle);
    starpu_resume();
    return seconds;
}

Outcome run_loads(std::span<Workload* const> workloads, const AppOptions& options, const std::optional<Peer>& peer,
                  const std::function<void()>& advance) {
    constexpr double kWarmUp_s = 2;  // of a process
    const int runs = options.repeat > 0 ? options.repeat : peer ? kPeerRuns : 1;
    const bool home = Nodes::here().home();
    std::vector<std::unique_ptr<NodesLoad>> loads;
    loads.reserve(workloads.size());
    for (Workload* workload : workloads) {
        loads.push_back(Nodes::here().make_load(*workload, static_cast<unsigned>(runs), advance != nullptr));
        warm_up(*workload, kWarmUp_s / static_cast<double>(workloads.size()));
    }
    Outcome outcome;
    std::vector<nlohmann::ordered_json> reports;
    ProgressLine progress(workloads.front()->shape().name, home && runs > 1);
    progress.expect(static_cast<std::size_t>(runs));
    for (int run = 0; run < runs; ++run) {
        progress.begin(fmt::format("run {}", run + 1));
        if (peer && home) outcome.peer_seconds.push_back(time_peer(*peer));
        const bool last = run == runs - 1, verified = options.verify && !kSimulated && (!advance || last);
        NodesLoad& result = *loads.back();
        if (verified) result.collect();  // what the run reads
        if (home)
            for (Workload* workload : workloads) workload->spoil_result();
        double seconds = 0;
        for (const auto& load : loads) {
            load->run();
            seconds += load->seconds();
        }
        if (verified) result.collect_results();
        if (verified && home) keep_worst(outcome.verification, workloads.back()->verify());
        if (advance && !kSimulated) advance();
        if (advance && !last) seconds += seconds_of([&] { result.exchange(); });
        if (last) result.collect();
        outcome.seconds.push_back(seconds);
        if (home) reports.push_back(report_of(loads));
        progress.done();
    }
    if (!home) return outcome;
    outcome.policy = loads.front()->policy();
    if (peer) outcome.peer_name = peer->name;
    // Of data that stay distributed, nodes' own reports come with the last one.
    outcome.report = loads.back()->distributed() ? reports.back() : reports[median_index(outcome.seconds)];
    return outcome;
}

Outcome run_load(Workload& workload, const AppOptions& options, const std::optional<Peer>& peer,
                 const std::function<void()>& advance) {
    Workload* const workloads[] = {&workload};
    return run_loads(workloads, options, peer, advance);
}

int print_outcome(const Outcome& outcome, const AppOptions& options, const Work& work, nlohmann::ordered_json head,
                  const std::string& title) {
    if (!Nodes::here().home()) return 0;
    const std::string app = head.value("app", "");
    if (Nodes::here().over_nodes()) head["nodes"] = Nodes::here().size();
    if (options.json)
        std::cout << outcome_json(outcome, work, std::move(head))
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << '\n';
    else
        print_table(outcome, work, title);
    if (!outcome.verification || outcome.verification->correct) return 0;
    std::cerr << fmt::format("{}: the result is wrong: an error of {:.2g} exceeds the tolerance of {:.2g}\n", app,
                             outcome.verification->max_error, outcome.verification->tolerance);
    return 1;
}

int run_app(CLI::App& cli, int argc, char** argv, const std::function<int()>& body) {
    int status = 0;
    Nodes* nodes = nullptr;
    auto complain = [&](const char* sentence, int code) {
        status = code;
        if (nodes) nodes->fail_alone(sentence, code);
        if (!nodes || nodes->home()) std::cerr << cli.get_name() << ": " << shown(sentence) << '\n';
    };
    try {
        nodes = &Nodes::here();
        nodes->require_same("program", cli.get_name() + " " APPORTION_VERSION);
        std::string command_line;
        for (int k = 1; k < argc; ++k) command_line += (k > 1 ? " " : "") + std::string(argv[k]);
        nodes->require_same("command line", command_line);
        refuse_empty_values(cli);
        std::string wrong;
        try {
            cli.parse(argc, argv);
        } catch (const CLI::Success& help) {
            if (nodes->home()) {
                status = cli.exit(help);
                flush_standard_output();
            }
            throw;
        } catch (const CLI::ParseError& error) {
            wrong = error.what() + nearest_option(error, cli, argc, argv);
        }
        nodes->agreed([&] {
            if (!wrong.empty()) throw UserError(wrong);
        });
        status = body();
        if (nodes->home()) flush_standard_output();
    } catch (const CLI::Success&) {
    } catch (const UserError& error) {
        complain(error.what(), 2);
    } catch (const std::bad_alloc&) {
        complain("the memory does not suffice; choose a smaller problem", 1);
    } catch (const NothingToRun&) {
        status = 0;
    } catch (const std::exception& error) {
        complain(error.what(), 1);
    }
    if (nodes && nodes->over_nodes()) nodes->stop();
    if (nodes) nodes->leave(status);
    return status;
}

}  // namespace apportion
