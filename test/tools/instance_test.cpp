// SPDX-License-Identifier: LGPL-2.1-or-later

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "policies/planners/assignment/instance_file.hpp"
#include "test/catch.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/profile_measure.hpp"

using namespace apportion;

namespace {

const auto kNever = [] { return false; };
constexpr double kStartup_s = 2e-5, kBytesPerSecond = 5e8;

/// Two cores and two cards, of which each has a link of its own; no clock.
class Machine final : public ProfileSubject {
  public:
    explicit Machine(bool with_data = true) : with_data_(with_data) {
        load_ = "solve";
        processors_ = {"card 0", "core 0", "core 1", "card 1"};
    }
    std::vector<double> run(std::span<const Units>) override { return {}; }
    std::optional<Transfers> transfers() override {
        if (!with_data_) return {};
        return Transfers{800,
                         200,
                         {1, 0, 0, 2},
                         [](unsigned memory, std::size_t bytes) {
                             return kStartup_s + static_cast<double>(bytes) / (kBytesPerSecond * memory);
                         },
                         {}};
    }

  private:
    bool with_data_;
};

std::string temporary_file() {
    const char* const folder = std::getenv("TMPDIR");
    return std::string(folder ? folder : "/tmp") + "/instance_test.json";
}

}  // namespace

TEST_CASE("start-up and bandwidth of a link are those of its messages") {
    const LinkTimes link = measure_link(
        [](std::size_t bytes) { return kStartup_s + static_cast<double>(bytes) / kBytesPerSecond; }, {}, kNever);
    CHECK(link.startup_s == Approx(kStartup_s).epsilon(0.001));
    CHECK(link.bytes_per_s == Approx(kBytesPerSecond));
    CHECK_THROWS_AS(measure_link([](std::size_t) { return 1.0; }, {}, kNever), UserError);
}

TEST_CASE("transfers of all devices are measured together, in each direction and in both") {
    Transfers transfers{800, 200, {2, 0, 1, 2}, {}, {}};
    int disturbed = 0;
    // Memories share a one-way link; of two measurements in five something else takes half of it.
    transfers.journeys_s = [&](std::span<const unsigned> memories, std::size_t bytes_in, std::size_t bytes_out,
                               int times) {
        const auto bytes = static_cast<double>(memories.size() * (bytes_in + bytes_out));
        std::vector<std::vector<double>> seconds;
        while (std::ssize(seconds) < times)
            seconds.emplace_back(memories.size(), kStartup_s + (++disturbed % 5 < 2 ? 2 : 1) * bytes / kBytesPerSecond);
        return seconds;
    };
    const auto times = measure_transfers(transfers, kNever);
    REQUIRE(times.size() == 2);  // none of main memory
    for (const unsigned memory : {1U, 2U}) {
        ProfilePoint point{5000, 1};
        times.at(memory).add_to(point);
        CHECK(point.in_s == Approx(kStartup_s + 2 * 5000 * 800 / kBytesPerSecond));
        CHECK(point.out_s == Approx(kStartup_s + 2 * 5000 * 200 / kBytesPerSecond));
        CHECK(point.both_s == Approx(kStartup_s + 2 * 5000 * 1000 / kBytesPerSecond));
    }
    transfers.bytes_in = 0;
    ProfilePoint point{10, 1};
    measure_transfers(transfers, kNever).at(1).add_to(point);
    CHECK(point.in_s == 0);
    CHECK(point.out_s > 0);
    CHECK(measure_transfers({0, 0, {1}, {}, {}}, kNever).empty());
    CHECK(measure_transfers(transfers, [] { return true; }).empty());
}

TEST_CASE("disturbed messages and sizes do not change a link") {
    const auto true_s = [](std::size_t bytes) { return kStartup_s + static_cast<double>(bytes) / kBytesPerSecond; };
    int message = 0;
    // Two of five messages take ten times as long, and all of one size.
    const LinkTimes link = measure_link(
        [&](std::size_t bytes) {
            const bool disturbed = ++message % 5 < 2 || bytes == std::size_t{2} << 20;
            return (disturbed ? 10 : 1) * true_s(bytes);
        },
        {.most = 25}, kNever);
    CHECK(link.startup_s == Approx(true_s(1)));
    CHECK(link.bytes_per_s == Approx(kBytesPerSecond));
}

TEST_CASE("nothing more of a link is measured when it is to stop") {
    for (const int last : {1, 5, 12}) {
        int messages = 0;
        measure_link([&](std::size_t) { return ++messages, 1.0; }, {.least = 4, .most = 4},
                     [&] { return messages >= last; });
        CHECK(messages == last);
    }
}

TEST_CASE("a measured machine is an instance that the reader takes, each device memory a node") {
    const std::string file = temporary_file();
    Machine machine;
    const std::vector<std::map<Units, double>> times = {{{10, 1}, {40, 8}}, {{20, 60}}, {{25, 50}}, {{24, 6}, {50, 1}}};
    const std::string told = save_instance(file, machine_instance(machine, times, 25, {}, kNever));
    CHECK(told.find("memory 2: a message takes 2e-05 s and 1e+09 bytes/s\n") != std::string::npos);
    const DataAssignment problem = read_instance(file);
    std::filesystem::remove(file);
    REQUIRE(problem.nodes.size() == 3);
    REQUIRE(problem.units.size() == 4);
    CHECK(problem.nodes[0].startup_s == Approx(kStartup_s).epsilon(0.001));
    CHECK(problem.nodes[0].seconds_per_packet == Approx(1000 / kBytesPerSecond));
    CHECK(problem.nodes[1].name == "main memory");
    CHECK(problem.nodes[1].startup_s == 0);
    CHECK(problem.nodes[1].seconds_per_packet < 1e-12);
    CHECK(problem.units[1].name == "main memory: core 0");
    CHECK(problem.units[3].node == 2);
    // By the sizes nearest to a quarter of 100.
    CHECK(problem.units[0].seconds_per_packet == Approx(0.1));
    CHECK(problem.units[1].seconds_per_packet == Approx(3));
    CHECK(problem.units[3].seconds_per_packet == Approx(0.25));
}

TEST_CASE("an instance without data or times is refused, and no file is left") {
    const std::string file = temporary_file();
    Machine kernel(false), machine;
    CHECK_THROWS_AS(check_instance(file, kernel), UserError);
    CHECK_NOTHROW(check_instance(file, machine));
    CHECK_THROWS_AS(machine_instance(machine, std::vector<std::map<Units, double>>(4), 25, {}, kNever), UserError);
    CHECK(!std::filesystem::exists(file));
}
