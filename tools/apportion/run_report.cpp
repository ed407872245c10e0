// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/run_report.hpp"

#include <fmt/format.h>

#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

/// Beyond 2^53 a double does not tell whole numbers apart: readers of JSON do not count farther, and neither does
/// StarPU's clock count microseconds, which are 285 years then.
constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
constexpr double kLongest_s = static_cast<double>(kMost) * 1e-6;

/// The fields of one object.
class Fields {
  public:
    /// `what`: "the report", "a block".
    Fields(const Json& object, std::string where, std::string what)
        : object_(object), where_(std::move(where)), what_(std::move(what)) {
        if (!object.is_object()) throw UserError(fmt::format("{}: {} is no JSON object", where_, what_));
    }

    std::string text(const char* name) const { return text_of(needed(name), name); }
    std::int64_t count(const char* name) const { return count_of(needed(name), name); }
    double seconds(const char* name) const { return seconds_of(needed(name), name); }
    double percent(const char* name) const { return number_of(needed(name), name); }

    // Nothing where a field is missing or null.
    std::optional<std::string> text_if(const char* name) const { return if_given(name, &Fields::text_of); }
    std::optional<std::int64_t> count_if(const char* name) const { return if_given(name, &Fields::count_of); }
    std::optional<double> seconds_if(const char* name) const { return if_given(name, &Fields::seconds_of); }
    std::optional<double> number_if(const char* name) const { return if_given(name, &Fields::any_number_of); }
    bool flag(const char* name) const {
        const Json* value = given(name);
        if (value && !value->is_boolean()) refuse(name, "true or false");
        return value && value->get<bool>();
    }

    const Json& list(const char* name) const {
        static const Json none = Json::array();
        const Json* value = given(name);
        if (value && !value->is_array()) refuse(name, "an array");
        return value ? *value : none;
    }
    const Json& needed_list(const char* name) const {
        needed(name);
        return list(name);
    }
    std::optional<Fields> object_if(const char* name, const std::string& what) const {
        const Json* value = given(name);
        if (!value) return {};
        return Fields(*value, where_, what);
    }
    Fields element(const Json& value, const std::string& what) const { return {value, where_, what}; }

    /// Of `count` elements.
    std::size_t index(const char* name, std::size_t count) const {
        const Json& value = needed(name);
        if (!value.is_number_integer()) refuse(name, "an integer");
        const auto found = value.get<std::int64_t>();
        if (found < 0 || static_cast<std::size_t>(found) >= count)
            throw UserError(fmt::format("{}: {} is of {} {}, which there is not", where_, what_, name, found));
        return static_cast<std::size_t>(found);
    }
    const Json& json() const { return object_; }
    const std::string& where() const { return where_; }

  private:
    [[noreturn]] void refuse(const char* name, const char* type) const {
        throw UserError(fmt::format("{}: \"{}\" of {} is not {}; it is no report of this version of Apportion", where_,
                                    name, what_, type));
    }
    [[noreturn]] void refuse_value(const char* name, const Json& value, const char* why) const {
        throw UserError(
            fmt::format("{}: \"{}\" of {} is {}, {}; was the file changed?", where_, name, what_, value.dump(), why));
    }
    const Json* given(const char* name) const {
        const auto found = object_.find(name);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }
    const Json& needed(const char* name) const {
        const auto found = object_.find(name);
        if (found == object_.end())
            throw UserError(
                fmt::format("{}: {} has no \"{}\"; it is no report of this version of Apportion", where_, what_, name));
        return *found;
    }
    template <typename T>
    std::optional<T> if_given(const char* name, T (Fields::*read)(const Json&, const char*) const) const {
        const Json* value = given(name);
        if (!value) return {};
        return (this->*read)(*value, name);
    }
    std::string text_of(const Json& value, const char* name) const {
        if (!value.is_string()) refuse(name, "a text");
        return value.get<std::string>();
    }
    std::int64_t count_of(const Json& value, const char* name) const {
        if (!value.is_number_integer()) refuse(name, "an integer");
        if (!value.is_number_unsigned()) refuse_value(name, value, kNegative);
        if (value.get<std::uint64_t>() > kMost) refuse_value(name, value, "more than a number of JSON can count");
        return value.get<std::int64_t>();
    }
    double any_number_of(const Json& value, const char* name) const {
        if (!value.is_number()) refuse(name, "a number");
        return value.get<double>();
    }
    double number_of(const Json& value, const char* name) const {
        const double number = any_number_of(value, name);
        if (number < 0) refuse_value(name, value, kNegative);
        return number;
    }
    double seconds_of(const Json& value, const char* name) const {
        const double seconds = number_of(value, name);
        if (seconds > kLongest_s) refuse_value(name, value, "longer than a clock that counts microseconds can tell");
        return seconds;
    }

    static constexpr const char* kNegative = "but nothing of it is negative";

    const Json& object_;
    std::string where_, what_;
};

ReportedProcessor processor(const Fields& fields) {
    ReportedProcessor own{fields.text("name"),
                          fields.text("kind"),
                          fields.count("units"),
                          fields.count("blocks"),
                          fields.seconds("compute_seconds"),
                          fields.seconds("transfer_wait_seconds"),
                          fields.seconds("return_seconds"),
                          fields.percent("idle_percent"),
                          fields.count_if("memory_units"),
                          {}};
    if (const auto model = fields.object_if("model", "a model")) own.model_r2 = model->number_if("r2");
    own.workers = std::max<std::int64_t>(1, fields.count_if("workers").value_or(1));
    return own;
}

ReportedBlock block(const Fields& fields, std::size_t processors) {
    return {fields.index("processor", processors),
            fields.count("first"),
            fields.count("units"),
            fields.seconds("given"),
            fields.seconds("start"),
            fields.seconds("end"),
            fields.seconds("home"),
            fields.flag("given_back")};
}

ReportedDistribution distribution(const Fields& fields) {
    ReportedDistribution own;
    own.at_s = fields.seconds_if("at_seconds").value_or(0);
    own.reason = fields.text_if("reason").value_or("");
    for (const Json& share : fields.list("shares"))
        own.shares.push_back(share.is_number() ? std::optional(share.get<double>()) : std::nullopt);
    own.predicted_end_s = fields.number_if("predicted_end_seconds");
    return own;
}

ReportedLoss loss(const Fields& fields, std::size_t processors) {
    return {fields.index("processor", processors), fields.text_if("name").value_or(""),
            fields.text_if("reason").value_or(""), fields.seconds_if("at_seconds").value_or(0),
            fields.count_if("units_given_back").value_or(0)};
}

ReportedLateBlock late_block(const Fields& fields) {
    return {fields.text_if("name").value_or(""), fields.count_if("units").value_or(0),
            fields.seconds_if("waited_seconds").value_or(0)};
}

ReportedChoice choice(const Fields& fields) {
    ReportedChoice own{fields.text("policy")};
    if (const auto predicted = fields.object_if("predicted_seconds", "the choice"))
        for (const auto& [policy, seconds] : predicted->json().items())
            if (seconds.is_number()) own.predicted_s[policy] = seconds;
    return own;
}

void read_lists(RunReport& own, const Fields& fields) {
    for (const Json& value : fields.needed_list("processors"))
        own.processors.push_back(processor(fields.element(value, "a processor")));
    if (own.processors.empty()) throw UserError(fmt::format("{}: the report has no processors", fields.where()));
    const std::size_t processors = own.processors.size();
    for (const Json& value : fields.list("distributions"))
        own.distributions.push_back(distribution(fields.element(value, "a distribution")));
    for (const Json& value : fields.list("lost_processors"))
        own.losses.push_back(loss(fields.element(value, "a loss"), processors));
    for (const Json& value : fields.list("late_blocks"))
        own.late_blocks.push_back(late_block(fields.element(value, "a late block")));
    for (const Json& value : fields.list("trace"))
        own.trace.push_back(block(fields.element(value, "a block"), processors));
}

}  // namespace

RunReport run_report(const Json& report, const std::string& where) {
    const Fields fields(report, where, "the report");
    RunReport own;
    own.load = own.profile_name = fields.text("load");
    own.policy = fields.text("policy");
    own.units = fields.count("units");
    own.granularity = fields.count("granularity");
    own.run = fields.count("run");
    own.blocks = fields.count("blocks");
    own.makespan_s = fields.seconds("makespan_seconds");
    own.idle_percent = fields.percent("idle_percent");
    read_lists(own, fields);
    for (ReportedProcessor& processor : own.processors)
        processor.share = static_cast<double>(processor.units) / std::max(static_cast<double>(own.units), 1.0);
    if (own.granularity < 1) throw UserError(fmt::format("{}: the report has no granularity", where));
    if (const auto profile = fields.object_if("profile", "\"profile\"")) {
        own.profile_name = profile->text_if("name").value_or(own.load);
        own.profile_file = profile->text_if("file");
    }
    if (const auto learnt = fields.object_if("learnt", "\"learnt\"")) {
        own.learnt_file = learnt->text_if("file");
        own.learnt_problem = learnt->text_if("problem");
    }
    if (const auto chosen = fields.object_if("choice", "the choice")) own.choice = choice(*chosen);
    own.lower_bound_s = fields.seconds_if("lower_bound_seconds");
    own.probing_s = fields.seconds_if("probing_seconds").value_or(0);
    own.planning_s = fields.seconds_if("planning_seconds").value_or(0);
    own.discarded_samples = fields.count_if("discarded_samples").value_or(0);
    own.policy_stalls = fields.count_if("policy_stalls").value_or(0);
    for (const Json& node : fields.list("nodes"))
        own.nodes.push_back(node.is_object() && node.contains("processors") ? run_report(node, where) : RunReport{});
    own.note = fields.text_if("note").value_or("");
    own.error = fields.text_if("error");
    return own;
}

}  // namespace apportion
