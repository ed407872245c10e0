// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/run_report.hpp"

#include <nlohmann/json.hpp>

#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

/// Readers of JSON do not count farther, nor does StarPU's clock count microseconds, which are 285 years then.
constexpr double kMost = 9007199254740992;  // 2^53
constexpr double kLongest_s = kMost * 1e-6;

enum class Numbers { of_runs, any };

/// The fields of one object.
class Fields {
  public:
    /// `what`: "the report", "a block".
    Fields(const Json& object, std::string where, std::string what)
        : json(object), where_(std::move(where)), what_(std::move(what)) {
        if (!object.is_object()) throw UserError("{}: {} is no JSON object", where_, what_);
    }

    /// Nothing where it is missing or null.
    template <class T>
    std::optional<T> get_if(const char* name, Numbers numbers = Numbers::of_runs) const {
        const auto found = json.find(name);
        if (found == json.end() || found->is_null()) return {};
        try {
            bool good = true;
            if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
                const bool whole = std::is_integral_v<T>;
                const double number = found->template get<double>();
                good = numbers == Numbers::any || (number >= 0 && number < (whole ? kMost : kLongest_s));
                good = good && (whole ? found->is_number_integer() : found->is_number());  // get() takes true for 1
            }
            if (good) return found->template get<T>();
        } catch (const Json::type_error&) {
        }
        throw UserError("{}: \"{}\" of {} is {:.60}, which no report of this version of Apportion has", where_, name,
                        what_, found->dump());
    }
    template <class T>
    T get(const char* name) const {
        if (std::optional<T> found = get_if<T>(name)) return *std::move(found);
        throw UserError("{}: {} has no \"{}\"; it is no report of this version of Apportion", where_, what_, name);
    }
    std::string text(const char* name) const { return get<std::string>(name); }
    std::int64_t count(const char* name) const { return get<std::int64_t>(name); }
    double seconds(const char* name) const { return get<double>(name); }

    Json::array_t list(const char* name) const { return get_if<Json::array_t>(name).value_or(Json::array_t()); }
    /// An object.
    std::optional<Fields> part(const char* name, const std::string& what) const {
        const auto found = json.find(name);
        return found == json.end() || found->is_null() ? std::nullopt : std::optional(Fields(*found, where_, what));
    }
    Fields element(const Json& value, const std::string& what) const { return {value, where_, what}; }

    /// Of `count` elements.
    std::size_t index(const char* name, std::size_t count) const {
        const auto found = static_cast<std::size_t>(get<std::int64_t>(name));
        if (found >= count) throw UserError("{}: {} is of {} {}, which there is not", where_, what_, name, found);
        return found;
    }

    const Json& json;

  private:
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
                          fields.get<double>("idle_percent"),
                          fields.get_if<std::int64_t>("memory_units"),
                          {}};
    if (const auto model = fields.part("model", "a model")) own.model_r2 = model->get_if<double>("r2", Numbers::any);
    own.workers = std::max<std::int64_t>(1, fields.get_if<std::int64_t>("workers").value_or(1));
    return own;
}

ReportedBlock block(const Fields& fields, std::size_t processors) {
    const bool given_back = fields.get_if<bool>("given_back").value_or(false);
    // Where a time of what does not count is not known, nothing is known to have happened.
    const auto seconds = [&](const char* name, double before_s) {
        return given_back ? fields.get_if<double>(name).value_or(before_s) : fields.seconds(name);
    };
    const double given_s = fields.seconds("given"), start_s = seconds("start", given_s),
                 end_s = seconds("end", start_s);
    return {fields.index("processor", processors),
            fields.count("first"),
            fields.count("units"),
            given_s,
            start_s,
            end_s,
            seconds("home", end_s),
            given_back};
}

ReportedDistribution distribution(const Fields& fields) {
    ReportedDistribution own;
    own.at_s = fields.get_if<double>("at_seconds").value_or(0);
    own.reason = fields.get_if<std::string>("reason").value_or("");
    for (const Json& share : fields.list("shares"))
        own.shares.push_back(share.is_number() ? std::optional(share.get<double>()) : std::nullopt);
    own.predicted_end_s = fields.get_if<double>("predicted_end_seconds", Numbers::any);
    return own;
}

ReportedLoss loss(const Fields& fields, std::size_t processors) {
    return {fields.index("processor", processors), fields.get_if<std::string>("name").value_or(""),
            fields.get_if<std::string>("reason").value_or(""), fields.get_if<double>("at_seconds").value_or(0),
            fields.get_if<std::int64_t>("units_given_back").value_or(0)};
}

ReportedLateBlock late_block(const Fields& fields) {
    return {fields.get_if<std::string>("name").value_or(""), fields.get_if<std::int64_t>("units").value_or(0),
            fields.get_if<double>("waited_seconds").value_or(0)};
}

void read_lists(RunReport& own, const Fields& fields, const std::string& where) {
    for (const Json& value : fields.get<Json::array_t>("processors"))
        own.processors.push_back(processor(fields.element(value, "a processor")));
    if (own.processors.empty()) throw UserError("{}: the report has no processors", where);
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
    own.idle_percent = fields.get<double>("idle_percent");
    read_lists(own, fields, where);
    for (ReportedProcessor& processor : own.processors)
        processor.share = static_cast<double>(processor.units) / std::max(static_cast<double>(own.units), 1.0);
    if (own.granularity < 1) throw UserError("{}: the report has no granularity", where);
    if (const auto profile = fields.part("profile", "\"profile\""))
        own.profile_name = profile->get_if<std::string>("name").value_or(own.load);
    if (const auto learnt = fields.part("learnt", "\"learnt\"")) {
        own.learnt_file = learnt->get_if<std::string>("file");
        own.learnt_problem = learnt->get_if<std::string>("problem");
    }
    own.choice = fields.get_if<std::string>("choice").value_or("");
    own.lower_bound_s = fields.get_if<double>("lower_bound_seconds");
    own.probing_s = fields.get_if<double>("probing_seconds").value_or(0);
    own.planning_s = fields.get_if<double>("planning_seconds").value_or(0);
    own.discarded_samples = fields.get_if<std::int64_t>("discarded_samples").value_or(0);
    own.policy_stalls = fields.get_if<std::int64_t>("policy_stalls").value_or(0);
    for (const Json& node : fields.list("nodes"))
        own.nodes.push_back(node.is_object() && node.contains("processors") ? run_report(node, where) : RunReport{});
    own.note = fields.get_if<std::string>("note").value_or("");
    own.error = fields.get_if<std::string>("error");
    return own;
}

}  // namespace apportion
