#include "serve/text_format.h"

#include <fmt/format.h>

#include <list>
#include <mutex>
#include <utility>

#include "json/json.h"
#include "serve/api_error.h"
#include "serve/generation_request.h"
#include "serve/json_text.h"

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

TextFormat made(std::string_view field, skipstone_grammar_kind kind, const std::string& text) {
  const std::string key = fmt::format("{} {}", static_cast<int>(kind), text);
  try {
    return {key, LatestGrammars::get().of(key, [&] { return skipstone::Grammar(kind, text); })};
  } catch (const skipstone::error& error) {
    if (error.status() != SKIPSTONE_INVALID_ARGUMENT && error.status() != SKIPSTONE_UNSUPPORTED) throw;
    refuse(field, "'{}': {}", field, error.what());
  }
}

}  // namespace

TextFormat json_schema_format(std::string_view field, const SortedJson& schema) {
  if (!schema.is_object() && !schema.is_boolean()) refuse(field, "'{}' has to be a JSON Schema, not {}", field, name_of(schema));
  return made(field, SKIPSTONE_GRAMMAR_JSON_SCHEMA, json_text(schema));
}

TextFormat gbnf_format(std::string_view field, const std::string& grammar) { return made(field, SKIPSTONE_GRAMMAR_GBNF, grammar); }

std::optional<TextFormat> read_text_format(std::string_view field, const SortedJson& format) {
  if (!format.is_object() || !format.contains("type") || !format["type"].is_string())
    refuse(field, "'{}' has to be an object with a type", field);
  const std::string type = format["type"].get<std::string>();
  if (type == "text") return std::nullopt;
  if (type == "json_object") return made(field, SKIPSTONE_GRAMMAR_JSON_OBJECT, "");
  if (type != "json_schema") refuse(field, "'{}' has to be of the type text, json_object or json_schema", field);
  const SortedJson& around = format.contains("json_schema") && format["json_schema"].is_object() ? format["json_schema"] : format;
  if (!around.contains("schema")) refuse(field, "'{}' of the type json_schema has no schema", field);
  return json_schema_format(field, around["schema"]);
}

skipstone::Grammar answer_grammar(const TextFormat& format, const skipstone::Chat& chat, const std::string& prompt_end) {
  const std::string key = fmt::format("{}\n{}\n{}", chat.info().source_text, prompt_end, format.key);
  return LatestGrammars::get().of(key, [&] { return format.grammar.answers_of(chat, prompt_end); });
}

}  // namespace cli::serve
