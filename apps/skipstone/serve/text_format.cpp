#include "serve/text_format.h"

#include <fmt/format.h>

#include <functional>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "json/json.h"
#include "json/json_parts.h"
#include "serve/api_error.h"
#include "serve/generation_request.h"

namespace cli::serve {

using skipstone::SortedJson;

namespace {

/// The grammars of the latest requests, whose masks are as a rule those of the next ones.
class LatestGrammars {
 public:
  static LatestGrammars& get() {
    static LatestGrammars all;
    return all;
  }

  skipstone::Grammar of(const std::string& key, const std::function<skipstone::Grammar()>& make) {
    {
      const std::lock_guard lock(mutex_);
      for (auto one = latest_.begin(); one != latest_.end(); ++one) {
        if (one->first != key) continue;
        latest_.splice(latest_.begin(), latest_, one);
        return latest_.front().second;
      }
    }
    skipstone::Grammar made = make();  // may take a while
    const std::lock_guard lock(mutex_);
    latest_.emplace_front(key, made);
    if (latest_.size() > most) latest_.pop_back();
    return made;
  }

 private:
  static constexpr std::size_t most = 32;
  std::mutex mutex_;
  std::list<std::pair<std::string, skipstone::Grammar>> latest_;
};

TextFormat schema_format(std::string_view field, std::string_view schema) {
  if (!schema.starts_with('{') && schema != "true" && schema != "false") refuse(field, "'{}' has to be a JSON Schema", field);
  return {std::string(field), SKIPSTONE_GRAMMAR_JSON_SCHEMA, std::string(schema)};
}

std::optional<TextFormat> typed_format(std::string_view field, std::string_view format) {
  const SortedJson read = SortedJson::parse(format);
  if (!read.is_object() || !read.contains("type") || !read["type"].is_string())
    refuse(field, "'{}' has to be an object with a type", field);
  const std::string type = read["type"].get<std::string>();
  if (type == "text") return std::nullopt;
  if (type == "json_object") return TextFormat{std::string(field), SKIPSTONE_GRAMMAR_JSON_OBJECT, ""};
  if (type != "json_schema") refuse(field, "'{}' has to be of the type text, json_object or json_schema", field);
  const bool around = read.contains("json_schema") && read["json_schema"].is_object();
  const std::vector<skipstone::JsonMember> members = skipstone::json_members(format);
  const std::string_view schema =
      around ? skipstone::json_member(skipstone::json_members(skipstone::json_member(members, "json_schema")), "schema")
             : skipstone::json_member(members, "schema");
  if (schema.empty()) refuse(field, "'{}' of the type json_schema has no schema", field);
  return schema_format(field, schema);
}

TextFormat gbnf_format(std::string_view field, std::string_view written) {
  const SortedJson grammar = SortedJson::parse(written);
  if (!grammar.is_string()) refuse(field, "'{}' has to be a text, not {}", field, name_of(grammar));
  return {std::string(field), SKIPSTONE_GRAMMAR_GBNF, grammar.get<std::string>()};
}

}  // namespace

std::optional<TextFormat> read_format(Form form, std::string_view body) {
  const std::vector<skipstone::JsonMember> members = skipstone::json_members(body);
  const auto written = [&](std::string_view name) { return skipstone::json_member(members, name); };
  if (form == Form::messages) return std::nullopt;
  if (form == Form::responses) {
    const std::string_view text = written("text");
    if (text.empty()) return std::nullopt;
    if (!text.starts_with('{')) refuse("text", "'text' has to be an object");
    const std::string_view format = skipstone::json_member(skipstone::json_members(text), "format");
    return format.empty() ? std::nullopt : typed_format("text.format", format);
  }
  std::optional<TextFormat> found;
  const auto take = [&](std::string_view field, std::optional<TextFormat> format) {
    if (found && format) refuse(field, "'{}' is a second format of the answer; one is possible", field);
    if (format) found = std::move(format);
  };
  if (const std::string_view format = written("response_format"); form == Form::chat && !format.empty())
    take("response_format", typed_format("response_format", format));
  if (const std::string_view schema = written("json_schema"); !schema.empty()) take("json_schema", schema_format("json_schema", schema));
  if (const std::string_view grammar = written("grammar"); !grammar.empty()) take("grammar", gbnf_format("grammar", grammar));
  return found;
}

skipstone::Grammar make_grammar(const TextFormat& format) {
  const std::string key = fmt::format("{} {}", static_cast<int>(format.kind), format.text);
  try {
    return LatestGrammars::get().of(key, [&] { return skipstone::Grammar(format.kind, format.text); });
  } catch (const skipstone::error& error) {
    if (error.status() != SKIPSTONE_INVALID_ARGUMENT && error.status() != SKIPSTONE_UNSUPPORTED) throw;
    refuse(format.field, "'{}': {}", format.field, error.what());
  }
}

}  // namespace cli::serve
