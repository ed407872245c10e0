// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "test/catch.hpp"
#include "test/folder.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/profile_measure.hpp"

using namespace apportion;

namespace {

/// Two processors with known time functions and noise: no clock, no kernel.
class FakeSubject final : public ProfileSubject {
  public:
    explicit FakeSubject(double noise = 0.01, Units most = kNoLimit) : noise_(noise) {
        kernel_ = "fake";
        processors_ = {"CPU 0", "CPU 1"};
        most_units_ = most;
    }

    static double true_seconds(std::size_t processor, Units units) {
        return 1e-3 * static_cast<double>(units) * static_cast<double>(processor + 1);
    }

    std::vector<double> run(std::span<const Units> units) override {
        runs.emplace_back(units.begin(), units.end());
        std::vector<double> seconds;
        for (std::size_t p = 0; p < units.size(); ++p) {
            seconds.push_back(units[p] == 0 ? 0
                                            : true_seconds(p, units[p]) * std::max(0.1, 1 + noise_ * normal_(random_)));
        }
        return seconds;
    }

    std::vector<std::vector<Units>> runs;

  private:
    double noise_;
    std::mt19937 random_{11};
    std::normal_distribution<double> normal_;
};

using Measured = std::map<std::pair<std::size_t, Units>, MeasuredPoint>;

MeasureOptions without_warm_up() {
    MeasureOptions options;
    options.warm_up_s = 0;
    return options;
}

MeasureWatcher collect(Measured& points) {
    MeasureWatcher watcher;
    watcher.finished = [&](const MeasuredPoint& p) { points[{p.processor, p.point.units}] = p; };
    return watcher;
}

/// A file that is gone when the test is over.
struct TemporaryFile : Folder {
    std::string text() const { return read("profile.csv"); }
    void write(const std::string& text) const { Folder::write("profile.csv", text); }

    std::string path = file("profile.csv");
};

const Notes kIdentity = {{"kernel", "fake"}, {"machine", "node7"}, {"size", "1024"}};
const std::string kMode = "together: CPU 0";

std::string refusal(const std::string& path, const Notes& identity) {
    return thrown<FileError>([&] { const ProfileRecord record(path, identity, {}, kMode); });
}

std::string sizes_error(const std::string& text) {
    return thrown<UserError>([&] { parse_sizes(text); });
}

}  // namespace

TEST_CASE("every size of every processor is measured to the precision asked for") {
    FakeSubject subject;
    Measured points;
    const std::vector<Units> sizes = {10, 20, 40};
    REQUIRE(measure_profile(subject, sizes, without_warm_up(), collect(points)));
    REQUIRE(points.size() == 6);
    for (const auto& [key, measured] : points) {
        const double truth = FakeSubject::true_seconds(key.first, key.second);
        CHECK(measured.precise);
        CHECK(measured.point.ci_s <= 0.025 * measured.point.seconds);
        CHECK(measured.point.seconds == Approx(truth).epsilon(0.025));
        CHECK(measured.point.repetitions >= 3);
    }
}

TEST_CASE("a noisy kernel is repeated until a cap when the precision is out of reach") {
    FakeSubject subject(0.4);
    Measured points;
    MeasureOptions options = without_warm_up();
    options.samples.most = 12;
    measure_profile(subject, std::vector<Units>{10}, options, collect(points));
    CHECK(points.at({0, 10}).point.repetitions <= 12);
    CHECK_FALSE(points.at({0, 10}).precise);
}

TEST_CASE("processors run together until the last one is precise") {
    FakeSubject together;
    Measured points;
    measure_profile(together, std::vector<Units>{10}, without_warm_up(), collect(points));
    CHECK(std::ranges::all_of(together.runs, [](const auto& units) { return units == std::vector<Units>{10, 10}; }));
}

TEST_CASE("a size above an equal share is measured while the others have the rest of the problem") {
    FakeSubject subject(0.01, 100);
    Measured points;
    measure_profile(subject, std::vector<Units>{50, 80, 100}, without_warm_up(), collect(points));
    CHECK(points.size() == 6);
    for (const std::vector<Units>& expected : {std::vector<Units>{50, 50}, std::vector<Units>{80, 20},
                                               std::vector<Units>{20, 80}, std::vector<Units>{100, 0}})
        CHECK(std::ranges::count(subject.runs, expected) >= 4);
    CHECK_THROWS_AS(measure_profile(subject, std::vector<Units>{101}, without_warm_up(), collect(points)), UserError);
}

TEST_CASE("the first measured times are a warm-up that no point contains") {
    FakeSubject subject;
    Measured points;
    MeasureOptions options;
    options.warm_up_s = 0.5;  // processor 1 takes 0.02 s
    measure_profile(subject, std::vector<Units>{10}, options, collect(points));
    CHECK(subject.runs.size() > 25 + 3);
    CHECK(points.at({0, 10}).point.repetitions <= 10);
}

TEST_CASE("an interrupted measurement continues behind its last point") {
    const TemporaryFile file;
    const std::vector<Units> sizes = {10, 20, 30, 40};
    auto measure = [&](FakeSubject& subject, std::size_t stop_after) {
        ProfileRecord record(file.path, kIdentity, {{"date", "today"}}, kMode);
        std::size_t finished = 0;
        MeasureWatcher watcher;
        watcher.known = [&](std::size_t p, Units units) { return record.has(subject.processors()[p], units); };
        watcher.finished = [&](const MeasuredPoint& p) {
            record.add(subject.processors()[p.processor], p.point);
            ++finished;
        };
        watcher.stop = [&] { return finished >= stop_after; };
        return measure_profile(subject, sizes, without_warm_up(), watcher);
    };
    FakeSubject first;
    CHECK_FALSE(measure(first, 4));
    const Profile half = read_profile(file.path);
    CHECK(half.processors[0].points.size() == 2);

    FakeSubject second;
    CHECK(measure(second, 1000));
    CHECK(std::ranges::none_of(second.runs, [](const auto& units) { return units[0] < 30; }));
    const Profile whole = read_profile(file.path);
    REQUIRE(whole.processors.size() == 2);
    for (std::size_t p = 0; p < 2; ++p) {
        REQUIRE(whole.processors[p].points.size() == 4);
        CHECK(whole.processors[p].points[1].seconds == half.processors[p].points[1].seconds);
    }
    CHECK(whole.notes.front() == std::pair<std::string, std::string>("kernel", "fake"));
    CHECK(std::ranges::count(whole.notes, "date", &Notes::value_type::first) == 1);

    FakeSubject third;
    CHECK(measure(third, 1000));
    CHECK(third.runs.empty());
}

TEST_CASE("two measurements at once into one file keep each other's points, and the later one of the same") {
    const TemporaryFile file;
    ProfileRecord one(file.path, kIdentity, {}, kMode), other(file.path, kIdentity, {}, kMode);
    one.add("CPU 0", {10, 0.1});
    other.add("CPU 0", {20, 0.2});
    one.add("CPU 0", {20, 0.3});
    const Profile profile = read_profile(file.path);
    REQUIRE(profile.processors.size() == 1);
    REQUIRE(profile.processors[0].points.size() == 2);
    CHECK(profile.processors[0].points[1].seconds == 0.3);
}

TEST_CASE("a recorded profile reads back as it was measured") {
    const TemporaryFile file;
    const ProfilePoint point{64, 0.0123456789012345, 1.25e-5, 7};
    ProfileRecord(file.path, kIdentity, {}, kMode).add("CUDA 0.0 (K40m, 11.2 GiB)", point);
    const Profile profile = read_profile(file.path);
    REQUIRE(profile.processors.size() == 1);
    CHECK(profile.processors[0].name == "CUDA 0.0 (K40m, 11.2 GiB)");
    CHECK(profile.processors[0].points[0].units == point.units);
    CHECK(profile.processors[0].points[0].seconds == point.seconds);
    CHECK(profile.processors[0].points[0].ci_s == point.ci_s);
    CHECK(profile.processors[0].points[0].repetitions == point.repetitions);
}

TEST_CASE("each kind of processor may be measured by a command of its own") {
    const TemporaryFile file;
    const std::string cores = "together: CPU 0, CPU 1", card = "together: CUDA 0";
    ProfileRecord(file.path, kIdentity, {}, cores).add("CPU 0", {64, 0.5, 0, 3});
    ProfileRecord(file.path, kIdentity, {}, card).add("CUDA 0", {640, 0.5, 0, 3});
    ProfileRecord(file.path, kIdentity, {}, card).add("CUDA 0", {1280, 0.9, 0, 3});
    ProfileRecord(file.path, kIdentity, {}, cores).add("CPU 1", {64, 0.6, 0, 3});
    const Profile profile = read_profile(file.path);
    REQUIRE(profile.processors.size() == 3);
    CHECK(profile.processors[1].points.size() == 2);
    CHECK(std::ranges::count(profile.notes, Notes::value_type("mode", cores)) == 1);
    CHECK(std::ranges::count(profile.notes, Notes::value_type("mode", card)) == 1);
}

TEST_CASE("a profile of something else is refused and stays as it is") {
    const TemporaryFile file;
    ProfileRecord(file.path, kIdentity, {}, kMode).add("CPU 0", {64, 0.5, 0, 3});
    const std::string before = file.text();
    for (std::size_t i = 0; i < kIdentity.size(); ++i) {
        Notes other = kIdentity;
        other[i].second = "another";
        CHECK_THAT(refusal(file.path, other), ContainsSubstring("was measured with " + other[i].first));
    }
    Notes more = kIdentity;
    more.emplace_back("precision", "0.1");
    CHECK_THAT(refusal(file.path, more), ContainsSubstring("does not say its precision"));
    CHECK(file.text() == before);

    file.write("a letter\nto my aunt");
    CHECK_THAT(refusal(file.path, kIdentity),
               ContainsSubstring(": is no profile and stays as it is") && ContainsSubstring(":1: "));
    CHECK(file.text() == "a letter\nto my aunt");
    CHECK(refusal(file.path, kIdentity) != "");
    CHECK(refusal("/nonexistent/folder/p.csv", kIdentity) != "");
    CHECK(refusal("/", kIdentity) != "");
}

TEST_CASE("a whole profile replaces nothing but an empty file, and one of the same") {
    const TemporaryFile file;
    const auto reason = [&](const Notes& identity) {
        return thrown<FileError>([&] { require_own(file.path, identity); });
    };
    CHECK(reason(kIdentity).empty());
    file.write("");
    CHECK(reason(kIdentity).empty());
    ProfileRecord(file.path, kIdentity, {}, kMode).add("CPU 0", {64, 0.5, 0, 3});
    CHECK(reason(kIdentity).empty());
    Notes other = kIdentity;
    other.front().second = "another";
    CHECK_THAT(reason(other), ContainsSubstring("was measured with " + other.front().first));
    for (const char* somebodys : {"int main(void) {}\n", "{}", "processor,units,seconds\nCPU 0,1,1\n"}) {
        file.write(somebodys);
        CHECK_THAT(reason(kIdentity), ContainsSubstring("choose another file"));
    }
}

TEST_CASE("two measurements at once keep each other's points") {
    const TemporaryFile file;
    ProfileRecord first(file.path, kIdentity, {}, kMode), second(file.path, kIdentity, {}, kMode);
    first.add("CPU 0", {64, 0.5, 0.01, 3});
    second.add("CPU 0", {128, 1.25, 0.01, 3});
    CHECK(second.has("CPU 0", 128));
    CHECK_FALSE(second.has("CPU 1", 128));
    CHECK(read_profile(file.path).processors.at(0).points.size() == 2);
}

TEST_CASE("a measurement without a finished point leaves no file") {
    const TemporaryFile file;
    { const ProfileRecord record(file.path, kIdentity, {}, kMode); }
    CHECK_FALSE(std::filesystem::exists(file.path));
}

TEST_CASE("sizes are from:to:step, with the end where the steps meet it") {
    CHECK(parse_sizes("16:64:16") == std::vector<Units>{16, 32, 48, 64});
    CHECK(parse_sizes("1:10:4") == std::vector<Units>{1, 5, 9});
    CHECK(parse_sizes("7:7:1") == std::vector<Units>{7});
    for (const char* text : {"", "16", "16:64", "16:64:", "0:64:16", "16:64:0", "-1:4:1", "a:b:c", "16:64:16:1",
                             "16:64:1.5", "99999999999999999999:1:1"})
        CHECK_THAT(sizes_error(text), ContainsSubstring("give from:to:step"));
    CHECK_THAT(sizes_error("64:16:16"), ContainsSubstring("begins behind its end"));
    CHECK_THAT(sizes_error("1:9223372036854775807:1"), ContainsSubstring("larger step"));
}

TEST_CASE("transfers of all devices are measured together, in each direction and in both") {
    constexpr double kStartup_s = 2e-5, kBytesPerSecond = 5e8;
    const auto never = [] { return false; };
    Transfers transfers{800, 200, {2, 0, 1, 2}, {}};
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
    const auto times = measure_transfers(transfers, never);
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
    measure_transfers(transfers, never).at(1).add_to(point);
    CHECK(point.in_s == 0);
    CHECK(point.out_s > 0);
    CHECK(measure_transfers({0, 0, {1}, {}}, never).empty());
    CHECK(measure_transfers(transfers, [] { return true; }).empty());
}
