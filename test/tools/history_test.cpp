// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cmath>
#include <sstream>

#include "test/catch.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/history_model.hpp"
#include "tools/apportion/history_profile.hpp"

using namespace apportion;

namespace {

std::uint32_t fake_hash(std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes * 2654435761U); }

HistoryModel read(const std::string& text) {
    std::istringstream in(text);
    return read_history_model(in, "gemm.node7");
}

std::string written(const HistoryModel& model) {
    std::ostringstream out;
    write_history_model(out, model);
    return out.str();
}

std::string error_of(const std::string& text) {
    try {
        read(text);
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

std::string rule_error(const std::string& text) {
    try {
        UnitsRule::parse(text);
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

/// As StarPU 1.4 writes its files: comments, blank lines, tabs, nan; with a CPU and a CUDA device.
const std::string kStarpuFile =
    "##################\n# Performance Model Version\n45\n\n####################\n# COMBs\n2\n"
    "####################\n# DEV_0\n1\n# device type\n0\n# device id \n0\n# number of cores \n1\n"
    "##########\n# number of implementations\n2\n"
    "#####\n# Model for cpu0_impl0 (Comb0)\n# number of entries\n2\n"
    "0.000000e+00   \t0.000000e+00   \t0.000000e+00   \t0.000000e+00   \tnan            \tnan            \t0\t0 \t0 \n"
    "nan            \tnan            \tnan            \n0\n"
    "# hash\t\tsize\n"
    "d46431bb\t4000        \t8.000000e+03   \t2.000000e+02   \t1.000000e+01   \t4.000000e+03   \t8.020000e+05   \t20\n"
    "6e96d715\t2000        \t4.000000e+03   \t1.000000e+02   \t0.000000e+00   \t1.000000e+02   \t1.000000e+04   \t1\n\n"
    "#####\n# Model for cpu0_impl1\n1\n0 0 0 0 nan nan 0 0 0\nnan nan nan\n0\n"
    "d46431bb\t4000        \t8.000000e+03   \t1.500000e+02   \t1.000000e+01   \t3.000000e+03   \t4.520000e+05   "
    "\t20\n\n"
    "####################\n# COMB_1\n1\n1\n3\n1\n# number of implementations\n1\n"
    "1\n0 0 0 0 nan nan 0 0 0\nnan nan nan\n0\n"
    "d46431bb\t4000        \t8.000000e+03   \t5.000000e+01   \t1.000000e+00   \t1.000000e+03   \t5.002000e+04   "
    "\t20\n\n";

}  // namespace

TEST_CASE("a history model that StarPU wrote becomes a profile with the faster implementation at each size") {
    const Profile profile = profile_of(read(kStarpuFile), UnitsRule::parse("size:1000"));
    REQUIRE(profile.processors.size() == 2);
    CHECK(profile.processors[0].name == "CPU 0");
    CHECK(profile.processors[1].name == "CUDA 3");
    REQUIRE(profile.processors[0].points.size() == 2);
    CHECK(profile.processors[0].points[0].units == 2);
    CHECK(profile.processors[0].points[0].seconds == Approx(100e-6));
    CHECK(profile.processors[0].points[0].ci_s == 0);
    CHECK(profile.processors[0].points[1].units == 4);
    CHECK(profile.processors[0].points[1].seconds == Approx(150e-6));
    CHECK(profile.processors[0].points[1].repetitions == 20);
    // Sample deviation 10 sqrt(20 / 19) us, t(0.975, 19) = 2.093024.
    CHECK(profile.processors[0].points[1].ci_s == Approx(2.093024 * 10e-6 / std::sqrt(19)).epsilon(1e-5));
    CHECK(profile.processors[1].points[0].seconds == Approx(50e-6));
}

TEST_CASE("units follow from bytes, bytes besides, operations or the footprint itself") {
    HistoryEntry entry;
    entry.footprint = 64;
    entry.bytes = 5000;
    entry.flops = 8.000001e6;
    CHECK(UnitsRule::parse("footprint").units(entry) == 64);
    CHECK(UnitsRule::parse("size").units(entry) == 5000);
    CHECK(UnitsRule::parse("size:1000").units(entry) == 5);
    CHECK(UnitsRule::parse("size:1000+2000").units(entry) == 3);
    CHECK(UnitsRule::parse("flops:1e6").units(entry) == 8);
    CHECK_FALSE(UnitsRule::parse("size:3000").units(entry));
    CHECK_FALSE(UnitsRule::parse("size:1000+5000").units(entry));
    for (const char* text : {"", "bytes", "size:", "size:0", "size:-1", "size:1.5", "size:8+", "size:8+x", "size:8x",
                             "flops", "flops:1+2", "footprint:3"})
        CHECK_THAT(rule_error(text), ContainsSubstring("--units-from"));
}

TEST_CASE("sizes without a whole number of units, or with the same, need another rule") {
    CHECK_THROWS_WITH(profile_of(read(kStarpuFile), UnitsRule::parse("size:3000")),
                      ContainsSubstring("d46431bb") && ContainsSubstring("no whole number of units"));
    HistoryModel model = read(kStarpuFile);
    model.architectures[0].implementations[0][0].bytes = 2000;
    CHECK_THROWS_WITH(profile_of(model, UnitsRule::parse("size")), ContainsSubstring("both have 2000 units"));
    model.architectures[0].implementations[0][0].samples = 0;  // flushed by StarPU
    CHECK_NOTHROW(profile_of(model, UnitsRule::parse("size")));
}

TEST_CASE("an exported profile is imported again with the same times and intervals") {
    for (const char* rule_text : {"footprint", "size:4096", "size:4096+1048576"}) {
        const UnitsRule rule = UnitsRule::parse(rule_text);
        Profile profile;
        profile.processors = {{"CPU 0", {{64, 0.25, 0.004, 12}, {128, 0.5, 0.001, 30}}},
                              {"CUDA 1", {{64, 0.0125, 1e-4, 15}}}};
        const Profile again = profile_of(read(written(history_model_of(profile, rule, fake_hash))), rule);
        REQUIRE(again.processors.size() == 2);
        for (std::size_t p = 0; p < 2; ++p) {
            CHECK(again.processors[p].name == profile.processors[p].name);
            REQUIRE(again.processors[p].points.size() == profile.processors[p].points.size());
            for (std::size_t i = 0; i < again.processors[p].points.size(); ++i) {
                const ProfilePoint &now = again.processors[p].points[i], &before = profile.processors[p].points[i];
                CHECK(now.units == before.units);
                CHECK(now.seconds == Approx(before.seconds));
                CHECK(now.ci_s == Approx(before.ci_s));
                CHECK(now.repetitions == before.repetitions);
            }
        }
    }
}

TEST_CASE("the cores of a CPU become one architecture, devices stay apart") {
    Profile profile;
    profile.processors = {{"CPU 0", {{64, 0.2, 0, 30}}},
                          {"CPU 1", {{64, 0.4, 0, 10}, {128, 0.9, 0, 4}}},
                          {"CUDA 0.0 (Tesla K40m 11.2 GiB 02:00.0)", {{64, 0.01, 0, 20}}},
                          {"CUDA 1.0 (Tesla K40m 11.2 GiB 83:00.0)", {{64, 0.02, 0, 20}}}};
    const HistoryModel model = history_model_of(profile, UnitsRule::parse("footprint"), fake_hash);
    REQUIRE(model.architectures.size() == 3);
    CHECK(model.architectures[0].devices == std::vector<HistoryDevice>{{0, 0, 1}});
    CHECK(model.architectures[2].devices == std::vector<HistoryDevice>{{1, 1, 1}});
    const std::vector<HistoryEntry>& cores = model.architectures[0].implementations[0];
    REQUIRE(cores.size() == 2);
    CHECK(cores[0].footprint == 64);
    CHECK(cores[0].mean_us == Approx(0.25e6));
    CHECK(cores[0].deviation_us == Approx(1e6 * std::sqrt(0.75 * 0.05 * 0.05 + 0.25 * 0.15 * 0.15)));
    CHECK(cores[0].samples == 40);
    CHECK(cores[1].samples == 10);  // StarPU would not believe four

    profile.processors[0].name = "CPU 4-7";  // a group of cores
    CHECK(history_model_of(profile, UnitsRule::parse("footprint"), fake_hash).architectures[0].devices ==
          std::vector<HistoryDevice>{{0, 0, 4}});
    profile.processors[0].name = "CPU 0+CPU 2";
    CHECK_THROWS_AS(history_model_of(profile, UnitsRule::parse("footprint"), fake_hash), UserError);

    profile.processors[0].name = "Xeon Phi";
    CHECK_THROWS_WITH(history_model_of(profile, UnitsRule::parse("footprint"), fake_hash),
                      ContainsSubstring("'Xeon Phi' is no device of StarPU"));
}

TEST_CASE("what a footprint cannot say is not exported") {
    Profile profile;
    profile.processors = {{"CPU 0", {{std::int64_t{1} << 33, 0.2, 0, 30}}}};
    CHECK_THROWS_AS(history_model_of(profile, UnitsRule::parse("footprint"), fake_hash), UserError);
    CHECK_THROWS_AS(history_model_of(profile, UnitsRule::parse("flops:2"), fake_hash), UserError);
    CHECK_NOTHROW(history_model_of(profile, UnitsRule::parse("size:8"), fake_hash));
}

TEST_CASE("a damaged history model is refused with file and line") {
    CHECK_THAT(error_of(""), ContainsSubstring("gemm.node7:0: the file ends before the version"));
    CHECK_THAT(error_of("44\n"), ContainsSubstring("gemm.node7:1: the version of the format is '44'"));
    for (std::size_t cut = 0; cut <= kStarpuFile.find_last_not_of('\n'); ++cut)
        CHECK_THAT(error_of(kStarpuFile.substr(0, cut)), Catch::Matchers::StartsWith("gemm.node7:"));
    std::string text = kStarpuFile;
    text.replace(text.find("2.000000e+02"), 12, "-2.00000e+02");
    CHECK_THAT(error_of(text), ContainsSubstring("negative"));
    text.replace(text.find("-2.00000e+02"), 12, "two hundred ");
    CHECK_THAT(error_of(text), ContainsSubstring("fields"));
}
