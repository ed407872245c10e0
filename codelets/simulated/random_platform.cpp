// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws platform files. All draws are whole numbers made of the raw output of std::mt19937_64, which the standard
// specifies bit by bit; the standard's distributions and floating-point arithmetic may differ from one library to the
// next. A quantity is drawn as its place in the preferred numbers E24, 24 to the decade and nearly equidistant
// logarithms: a uniform place is a log-uniform quantity, moving by places multiplies.
//
// Counts are uniform and classes equally likely. One card or core has one speed, that of matmul. Its speed for another
// kernel is that of machine A of the PLB-HeC paper (platforms/plbhec/machine-a.toml), times the ratio of the two
// machines' speeds for matmul, times a spread.
#include "codelets/simulated/random_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "codelets/simulated/platform_file.hpp"
#include "models/io/text.hpp"

namespace apportion::simulated {

namespace {

constexpr std::array kE24{10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30,
                          33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91};
constexpr int kDecade = kE24.size();

/// The place of tenths / 10 * 10^exponent; the tenths are a number of kE24.
consteval int place(int tenths, int exponent) {
    const auto found = std::ranges::find(kE24, tenths);
    if (found == kE24.end()) throw "not in E24";
    return static_cast<int>(found - kE24.begin()) + exponent * kDecade;
}

/// As TOML writes it.
std::string number(int at) {
    constexpr int kBias = 100;  // decades, so that the division rounds down
    const int exponent = (at + kBias * kDecade) / kDecade - kBias;
    const int tenths = kE24[static_cast<std::size_t>(at - exponent * kDecade)];
    if (exponent == 0) return fmt::format("{}.{}", tenths / 10, tenths % 10);
    if (exponent == -1) return fmt::format("0.{}", tenths);
    if (exponent > 0 && exponent < 5) return std::to_string(tenths) + std::string(exponent - 1, '0');
    return fmt::format("{}.{}e{}", tenths / 10, tenths % 10, exponent);
}

/// Both ends are drawn, too.
struct Range {
    int from, to;
};

struct MachineClass {
    const char* meaning;
    Range cores;  ///< numbers
    Range cards, card_kinds;
    bool times_a_core = false;  ///< the cards' speed is relative to that of the fastest core
    Range card_rate;            ///< place of operations per second, or of that ratio
    Range memory_bytes;         ///< places
    Range link_bytes_per_s;
};

const std::array<std::string, 5> kClassNames{"laptop", "workstation", "server", "many-core", "mixed"};

constexpr std::array<MachineClass, kClassNames.size()> kClasses{{
    {.meaning = "few cores, one weak card",
     .cores = {1, 8},
     .cards = {1, 1},
     .card_kinds = {1, 1},
     .card_rate = {place(39, 11), place(51, 12)},
     .memory_bytes = {place(20, 9), place(82, 9)},
     .link_bytes_per_s = {place(30, 9), place(16, 10)}},
    {.meaning = "one or two cards",
     .cores = {4, 24},
     .cards = {1, 2},
     .card_kinds = {1, 2},
     .card_rate = {place(20, 12), place(30, 13)},
     .memory_bytes = {place(62, 9), place(24, 10)},
     .link_bytes_per_s = {place(62, 9), place(33, 10)}},
    {.meaning = "four to eight cards of today",
     .cores = {8, 56},
     .cards = {4, 8},
     .card_kinds = {1, 2},
     .times_a_core = true,
     .card_rate = {place(30, 2), place(10, 3)},
     .memory_bytes = {place(16, 10), place(82, 10)},
     .link_bytes_per_s = {place(10, 10), place(51, 10)}},
    {.meaning = "many cores, one old card",
     .cores = {24, 63},
     .cards = {1, 1},
     .card_kinds = {1, 1},
     .card_rate = {place(20, 11), place(15, 12)},
     .memory_bytes = {place(20, 9), place(62, 9)},
     .link_bytes_per_s = {place(15, 9), place(62, 9)}},
    {.meaning = "cards of several generations",
     .cores = {1, 24},
     .cards = {1, 16},
     .card_kinds = {1, 4},
     .card_rate = {place(39, 11), place(30, 13)},
     .memory_bytes = {place(20, 9), place(82, 10)},
     .link_bytes_per_s = {place(15, 9), place(51, 10)}},
}};

// What tools/starpu-recipe configures; each card takes a core of its own.
static_assert(std::ranges::all_of(kClasses, [](const MachineClass& c) {
    return c.cards.to <= 16 && c.cards.to + c.cores.to <= 512;
}));

constexpr Range kCoreKinds{1, 2};
constexpr Range kCoreRate{place(15, 10), place(91, 10)};          // operations of matmul per second
constexpr Range kCoreHalfSaturation{place(20, 0), place(16, 1)};  // units of matmul
constexpr Range kCardHalfSaturation{place(47, 1), place(30, 3)};
constexpr Range kCoreBase_s{place(10, -6), place(30, -5)};
constexpr Range kCardBase_s{place(51, -6), place(51, -5)};
constexpr Range kLatency_s{place(51, -6), place(51, -5)};
constexpr Range kSpread{-4, 4};  // places: from 0.68 to 1.5
constexpr int kEveryRipple = 4;  // of so many kinds one has a ripple
constexpr Range kRippleHeight{place(10, -1), place(12, 0)};
constexpr Range kRipplePeriod{5, 8};  // powers of two
constexpr std::array kNoise{"0", "0.03", "0.1"};

/// Speed and half saturation of a core and of the card of machine A.
struct Reference {
    const char* kernel;
    int core_rate, core_half_saturation, card_rate, card_half_saturation;
    bool ripples;  ///< its time is that of a library whose speed depends on alignment
};

constexpr const char* kReferenceMachine = "plbhec-a";
constexpr std::array<Reference, 7> kReferences{{
    {"matmul", place(39, 9 + 1), place(82, 0), place(27, 12), place(51, 2), true},
    {"blackscholes", place(39, 3), place(16, 1), place(68, 5), place(20, 3), false},
    {"fft2d", place(39, 9), place(10, 0), place(11, 11), place(62, 1), true},
    {"grn", place(20, 0), place(10, 0), place(24, 2), place(62, 1), false},
    {"jacobi", place(10, 9), place(10, 0), place(36, 10), place(24, 2), false},
    {"jacobi_batch", place(20, 9), place(10, -1), place(36, 10), place(62, 0), false},
    {"mpdata", place(33, 9), place(20, -1), place(20, 11), place(39, 0), false},
}};
constexpr const Reference& kMatmul = kReferences.front();

class Drawing {
  public:
    explicit Drawing(std::uint64_t seed) : seed_(seed), engine_(seed) {}
    std::string text();

  private:
    /// The remainder prefers small numbers by less than one in 2^33.
    int draw(Range range) {
        return range.from + static_cast<int>(engine_() % static_cast<std::uint64_t>(range.to - range.from + 1));
    }
    bool draw_yes() { return draw({0, 1}) == 1; }
    std::vector<int> split(int count, int kinds);
    std::string links(const MachineClass& machine, int card_kinds);
    std::string kernels(bool card, int rate, int stream);
    std::string cores(const std::vector<int>& counts);
    std::string cards(const MachineClass& machine, const std::vector<int>& counts);

    std::uint64_t seed_;
    std::mt19937_64 engine_;
    std::vector<int> link_rates_;
    int fastest_core_ = 0;
};

/// At least one of each kind.
std::vector<int> Drawing::split(int count, int kinds) {
    std::vector<int> counts(static_cast<std::size_t>(std::min(count, kinds)), 1);
    for (int i = static_cast<int>(counts.size()); i < count; ++i)
        ++counts[static_cast<std::size_t>(draw({0, static_cast<int>(counts.size()) - 1}))];
    return counts;
}

/// One for all cards, or one for each kind of them.
std::string Drawing::links(const MachineClass& machine, int card_kinds) {
    const int count = draw_yes() ? card_kinds : 1;
    std::string text;
    for (int i = 0; i < count; ++i) {
        link_rates_.push_back(draw(machine.link_bytes_per_s));
        const int latency = draw(kLatency_s);
        const bool shared = draw_yes(), full_duplex = draw_yes();
        text += fmt::format(
            "\n[[link]]\nname = \"link {}\"\nbytes_per_s = {}\nlatency_s = {}\nshared = {}\nfull_duplex = {}\n",
            static_cast<char>('A' + i), number(link_rates_.back()), number(latency), shared, full_duplex);
    }
    return text;
}

std::string Drawing::kernels(bool card, int rate, int stream) {
    const int base = draw(card ? kCardBase_s : kCoreBase_s);
    const int half_saturation = draw(card ? kCardHalfSaturation : kCoreHalfSaturation);
    std::string ripple;
    if (draw({1, kEveryRipple}) == 1) {
        const int height = draw(kRippleHeight), period = 1 << draw(kRipplePeriod);
        ripple = fmt::format("ripple = {{ height = {}, period = {} }}\n", number(height), period);
    }
    const int faster = rate - (card ? kMatmul.card_rate : kMatmul.core_rate);
    const int wider = half_saturation - (card ? kMatmul.card_half_saturation : kMatmul.core_half_saturation);
    std::string text;
    for (const Reference& reference : kReferences) {
        const int spread = &reference == &kMatmul ? 0 : draw(kSpread);
        text += fmt::format("[device.kernel.{}]\nbase_s = {}\nrate = {}\nhalf_saturation = {}\n", reference.kernel,
                            number(base), number((card ? reference.card_rate : reference.core_rate) + faster + spread),
                            number((card ? reference.card_half_saturation : reference.core_half_saturation) + wider));
        // The matrix that all blocks share crosses the link for each of them where it does not fit the card.
        if (card && &reference == &kMatmul) text += fmt::format("stream_bytes_per_s = {}\n", number(stream));
        if (reference.ripples) text += ripple;
    }
    return text;
}

std::string Drawing::cores(const std::vector<int>& counts) {
    std::string text;
    for (std::size_t kind = 0; kind < counts.size(); ++kind) {
        const int rate = draw(kCoreRate);
        fastest_core_ = std::max(fastest_core_, rate);
        text += fmt::format("\n[[device]]\nname = \"core {}\"\nkind = \"cpu\"\ncount = {}\n{}",
                            static_cast<char>('A' + kind), counts[kind], kernels(false, rate, 0));
    }
    return text;
}

std::string Drawing::cards(const MachineClass& machine, const std::vector<int>& counts) {
    std::string text;
    for (std::size_t kind = 0; kind < counts.size(); ++kind) {
        const int rate = draw(machine.card_rate) + (machine.times_a_core ? fastest_core_ : 0);
        const int memory = draw(machine.memory_bytes);
        const std::size_t link = link_rates_.size() > 1 ? kind : 0;
        text += fmt::format(
            "\n[[device]]\nname = \"card {}\"\nkind = \"cuda\"\ncount = {}\nlink = \"link {}\"\nmemory_bytes = {}\n{}",
            static_cast<char>('A' + kind), counts[kind], static_cast<char>('A' + link), number(memory),
            kernels(true, rate, link_rates_[link]));
    }
    return text;
}

void add(std::string& text, const char* key, const Monomial& monomial) {
    if (monomial.factor == 0) return;
    text += fmt::format("{} = {{ factor = {}", key, monomial.factor);
    for (const auto& [name, power] : {std::pair{"m", monomial.m}, {"n", monomial.n}, {"k", monomial.k}})
        if (power != 0) text += fmt::format(", {} = {}", name, power);
    text += " }\n";
}

std::string kernel_needs() {
    const Platform machine = load_platform(kReferenceMachine);
    std::string text;
    for (const Reference& reference : kReferences) {
        const KernelNeeds needs = needs_of(machine, reference.kernel);
        text += fmt::format("\n[kernel.{}]\n", reference.kernel);
        add(text, "work", needs.work);
        add(text, "bytes_in", needs.bytes_in);
        add(text, "bytes_out", needs.bytes_out);
        add(text, "resident_bytes", needs.resident_bytes);
        if (needs.kept) text += "kept = true\n";
    }
    return text;
}

std::string Drawing::text() {
    const auto c = static_cast<std::size_t>(draw({0, static_cast<int>(kClasses.size()) - 1}));
    const MachineClass& machine = kClasses[c];
    const char* const noise = kNoise[static_cast<std::size_t>(draw({0, static_cast<int>(kNoise.size()) - 1}))];
    const int noise_seed = draw({1, 1'000'000'000});
    const int core_count = draw(machine.cores), card_count = draw(machine.cards);
    const std::vector<int> core_counts = split(core_count, draw(kCoreKinds));
    const std::vector<int> card_counts = split(card_count, draw(machine.card_kinds));
    std::string text = fmt::format(
        "# Drawn by: apportion platform --random {}\n# Class {}: {}\n"
        "name = \"random-{}\"\ndescription = \"random {}: {} of {}, {} of {}\"\n"
        "seed = {}\nnoise = {}\n",
        seed_, kClassNames[c], machine.meaning, seed_, kClassNames[c], counted(card_count, "card"),
        counted(card_counts.size(), "kind"), counted(core_count, "core"), counted(core_counts.size(), "kind"),
        noise_seed, noise);
    text += kernel_needs();
    text += links(machine, static_cast<int>(card_counts.size()));
    text += cores(core_counts);
    return text + cards(machine, card_counts);
}

}  // namespace

std::string random_platform(std::uint64_t seed) { return Drawing(seed).text(); }

}  // namespace apportion::simulated
