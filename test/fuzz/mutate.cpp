// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a fuzz target without libFuzzer: every file of a corpus, then mutations of them from a fixed seed, the same each
// time. For a real search compile the target with `clang++ -fsanitize=fuzzer,address,undefined` in place of this file
// and give it the corpus; what it finds goes into the corpus.
//
//     NAME_fuzz CORPUS-FOLDER MUTATIONS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

/// Bytes changed, removed, repeated or exchanged with another text of the corpus, and numbers that are unkind.
std::string mutate(std::string text, const std::vector<std::string>& corpus, std::mt19937& random) {
    static const std::string kUnkind[] = {"0",   "-1", "1e999", "1e-400", "nan",  "inf",  "99999999999999999999",
                                          "0x1", "\"", ",",     "\n",     "\r",   "#",    "{",
                                          "}",   "[",  "]",     "null",   "1e18", "1e-12"};
    auto below = [&](std::size_t bound) { return bound == 0 ? 0 : random() % bound; };
    const std::size_t changes = 1 + below(6);
    for (std::size_t change = 0; change < changes; ++change) {
        const std::size_t at = below(text.size() + 1), length = std::min(below(20), text.size() - at);
        switch (random() % 6) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(random());
                break;
            case 1:
                text.erase(at, length);
                break;
            case 2:
                text.insert(below(text.size() + 1), text.substr(at, length));
                break;
            case 3:
                text.insert(at, kUnkind[below(std::size(kUnkind))]);
                break;
            case 4: {  // one number for another
                const std::size_t digit = text.find_first_of("0123456789", at);
                if (digit == std::string::npos) break;
                const std::size_t end = std::min(text.find_first_not_of("0123456789.e+-", digit), text.size());
                text.replace(digit, end - digit, kUnkind[below(std::size(kUnkind))]);
                break;
            }
            default: {
                const std::string& other = corpus[below(corpus.size())];
                text = text.substr(0, at) + other.substr(below(other.size() + 1));
            }
        }
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s CORPUS-FOLDER MUTATIONS\n", argv[0]);
        return 2;
    }
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> corpus;
    for (const auto& path : paths) {
        std::ifstream in(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    if (corpus.empty()) {
        std::fprintf(stderr, "%s: the folder %s has no file\n", argv[0], argv[1]);
        return 2;
    }
    for (const std::string& text : corpus) run(text);
    std::mt19937 random(1);
    const long mutations = std::atol(argv[2]);
    for (long k = 0; k < mutations; ++k) {
        const std::string text = mutate(corpus[random() % corpus.size()], corpus, random);
        if (const char* keep = std::getenv("FUZZ_LAST")) std::ofstream(keep, std::ios::binary) << text;
        run(text);
    }
    std::printf("%zu files and %ld mutations\n", corpus.size(), mutations);
    return 0;
}
