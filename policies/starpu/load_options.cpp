// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/load_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "policies/policy.hpp"
#include "policies/starpu/application_handles.hpp"
#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

constexpr std::uint64_t kMostUnits = kNoLimit / 4;
constexpr unsigned kMostParts = 65536;

[[noreturn]] void refuse(const std::string& sentence) { throw ApiError(EINVAL, "apportion_load_create: " + sentence); }

template <class First, class... Others>
[[noreturn]] void refuse(fmt::format_string<First, Others...> sentence, First&& first, Others&&... others) {
    refuse(fmt::format(sentence, std::forward<First>(first), std::forward<Others>(others)...));
}

/// What every program must have set, and thus the smallest structure.
constexpr std::size_t kSmallestSize = offsetof(apportion_load_options, parts);

/// The fields that the caller's header has, the others with their defaults. Reads `size` first, and no byte behind it.
apportion_load_options completed(const apportion_load_options* given) {
    std::size_t size = 0;
    std::memcpy(&size, given, sizeof size);
    if (const std::string why = why_no_size(size); !why.empty()) refuse(why);
    apportion_load_options options;
    if (size > sizeof options)
        refuse(
            "options.size is {}, but this library knows {} bytes: the program was compiled with a later apportion.h; "
            "install that version of the library",
            size, sizeof options);
    apportion_load_options_init(&options);
    std::memcpy(&options, given, size);
    options.size = sizeof options;
    return options;
}

void check_units(const apportion_load_options& options) {
    const auto check = [](const char* field, std::uint64_t units) {
        if (units > kMostUnits) refuse("options.{} = {} is too large (a negative number?)", field, units);
    };
    check("units", options.units);
    check("granularity", options.granularity);
    check("initial_block", options.initial_block);
    if (options.done && options.open == 0)
        refuse("options.done is set, but not options.open: only an open load tells which units are done");
    if (options.parts > kMostParts)
        refuse("options.parts = {}: a block has at most {} tasks (a negative number?)", options.parts, kMostParts);
}

void check_uses(const apportion_load_options& options) {
    if (options.uses_count > 0 && !options.uses) refuse("options.uses is NULL but uses_count is not 0");
    for (unsigned k = 0; k < options.uses_count; ++k) {
        const auto [handle, mode] = options.uses[k];
        if (!handle || (mode != STARPU_R && mode != STARPU_W && mode != STARPU_RW))
            refuse("options.uses[{}] needs a handle and STARPU_R, STARPU_W or STARPU_RW", k);
    }
    if (const std::string why = why_not_held_together({options.uses, options.uses_count}); !why.empty()) refuse(why);
}

}  // namespace

std::string why_no_size(std::size_t size) {
    if (size >= kSmallestSize && size % alignof(apportion_load_options) == 0) return {};
    return fmt::format(
        "options.size is {}, which is the size of no such structure; call apportion_load_options_init "
        "before the fields are set",
        size);
}

apportion_load_options checked_options(const apportion_load_options* given) {
    if (!given) refuse("options is NULL");
    apportion_load_options options = completed(given);
    if (!options.codelet) refuse("options.codelet is NULL; give the codelet of one block");
    if (options.codelet->nbuffers < STARPU_VARIABLE_NBUFFERS)
        refuse("options.codelet->nbuffers is {}; give the number of a task's handles, or STARPU_VARIABLE_NBUFFERS",
               options.codelet->nbuffers);
    if (options.codelet->callback_func)
        refuse(
            "options.codelet->callback_func is set, but the callback of a block's task is the load's own; let `fill` "
            "set the task's epilogue_callback_func");
    if (!options.fill) refuse("options.fill is NULL; give the function that fills a block's task");
    check_units(options);
    if (!starpu_is_initialized()) refuse("StarPU is not running; call apportion_init first");
    check_uses(options);
    if (options.sched_ctx < -1 || options.sched_ctx >= STARPU_NMAX_SCHED_CTXS)
        refuse("options.sched_ctx = {}: this StarPU has contexts 0 to {}, and -1 is the submitting thread's",
               options.sched_ctx, STARPU_NMAX_SCHED_CTXS - 1);
    options.parts = std::max(1u, options.parts);
    options.granularity = static_cast<std::uint64_t>(granularity_of(options));
    return options;
}

}  // namespace apportion
