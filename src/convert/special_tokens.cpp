#include "text/special_tokens.h"

#include <algorithm>

#include "base/log.h"
#include "base/number.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "convert/tokenizer.h"
#include "json/json.h"

namespace skipstone::convert {
namespace {

using text::Token;

/// A token is named by its text, or by an object that has it as content.
std::optional<std::string> content_of(const SortedJson& token) {
  if (token.is_string()) return token.get<std::string>();
  return string_member(token, "content");
}

void add_added_tokens_json(const std::string& path, TokenList& tokens) {
  const SortedJson added = read_json_object_if_there(path);
  for (const auto& [text, id] : added.items()) {
    if (!id.is_number_unsigned()) fail(Code::bad_file, "{}: the id of {} is not a whole number from 0 on", path, quote(text));
    tokens.add_extra(id.get<std::uint64_t>(), text, false);
  }
}

void add_decoder(const SortedJson& decoder, const std::string& path, TokenList& tokens) {
  if (decoder.is_null()) return;
  if (!decoder.is_object()) fail(Code::bad_file, "{}: \"added_tokens_decoder\" is no object", path);
  for (const auto& [written, token] : decoder.items()) {
    const auto id = parse_number<std::uint64_t>(written);
    const auto content = string_member(token, "content");
    if (!id || !content) {
      fail(Code::bad_file, "{}: \"added_tokens_decoder\" has {}, which is no id with a token", path, quote(written));
    }
    tokens.rename(*id, *content);
    tokens.add_extra(*id, *content, boolean_member(token, "special").value_or(false), token_flags(token));
  }
}

/// Tokens that stand in tokenizer.json alone, of a folder whose tokenizer was read from another file: they take rows that are free.
/// Whatever does not fit there is no reason to refuse the folder, whose other files are complete without it.
void add_tokens_of_json(const std::string& path, TokenList& tokens) {
  if (tokens.path() == path || !platform::is_there(path)) return;
  try {
    const SortedJson file = read_json_object(path);
    const auto is_new = [&](const SortedJson& id, const std::string& text) {
      return id.is_number_unsigned() && tokens.is_free(id.get<std::uint64_t>()) && tokens.find(text) < 0 &&
             text::find_invalid_utf8(text) == std::string::npos;
    };
    for (const SortedJson& token : member(file, "added_tokens")) {
      const auto content = string_member(token, "content");
      const SortedJson& id = member(token, "id");
      if (!content || !is_new(id, *content)) continue;
      tokens.add_extra(id.get<std::uint64_t>(), *content, boolean_member(token, "special").value_or(false), token_flags(token));
    }
    for (const auto& [text, id] : member(member(file, "model"), "vocab").items()) {
      if (is_new(id, text)) tokens.add_piece(id.get<std::uint64_t>(), text);
    }
  } catch (const Error& error) {
    log::warning("{}; its tokens are left out.", error.what());
  }
}

/// The folder's settings, most binding first.
struct Settings {
  SortedJson tokenizer_config, special_tokens_map, config, generation_config;
  std::string folder;
};

/// The token that the folder calls `name` ("bos_token"), if it is in the vocabulary.
Token named(const Settings& settings, const std::string& name, TokenList& tokens) {
  for (const SortedJson* file : {&settings.tokenizer_config, &settings.special_tokens_map}) {
    const auto content = content_of(member(*file, name.c_str()));
    if (!content || content->empty()) continue;
    const Token token = tokens.find(*content);
    if (token < 0) {
      log::warning("{}: its {}, {}, is not in the vocabulary; it is left out.", settings.folder, name, quote(*content));
      continue;
    }
    tokens.make_control(token);
    return token;
  }
  return -1;
}

/// The id that the model's configuration gives, of a list the first.
Token numbered(const Settings& settings, const std::string& name, const TokenList& tokens) {
  for (const SortedJson* file : {&settings.config, &settings.generation_config}) {
    const SortedJson& value = member(*file, (name + "_id").c_str());
    const SortedJson& first = value.is_array() && !value.empty() ? value.front() : value;
    if (!first.is_number_unsigned()) continue;  // null, and -1 for "none", are common
    const auto id = first.get<std::uint64_t>();
    if (id < tokens.texts.size()) return static_cast<Token>(id);
    log::warning("{}: its {}_id is {}, which the vocabulary of {} tokens lacks; it is left out.", settings.folder, name, id,
                 tokens.texts.size());
  }
  return -1;
}

/// Every token in a file's additional_special_tokens, or since transformers 5 its extra_special_tokens, is special, whatever other files
/// say.
void mark_additional(const SortedJson& file, TokenList& tokens) {
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    for (const SortedJson& each : member(file, key)) {
      const Token token = tokens.find(content_of(each).value_or(""));
      if (token >= 0) tokens.make_control(token);
    }
  }
}

Token first_of(std::initializer_list<Token> candidates) {
  for (const Token token : candidates) {
    if (token >= 0) return token;
  }
  return -1;
}

/// Reconciles a token that the tokenizer puts at an end of each text with the one that the folder names for it.
Token at_end_of_text(const std::optional<std::string>& template_token, Token token, const char* name, const TokenList& tokens) {
  if (!template_token) return token;
  const Token put = tokens.find(*template_token);
  if (put < 0 && tokens.has_left_out(*template_token)) return token;
  if (put < 0) fail(Code::bad_file, "{}: puts {} around each text, which is not in the vocabulary", tokens.path(), quote(*template_token));
  if (token >= 0 && token != put) {
    fail(Code::unsupported, "{}: puts {} around each text although the {} token is {}; GGUF can only say one of them", tokens.path(),
         quote(*template_token), name, quote(tokens.texts[static_cast<std::size_t>(token)]));
  }
  return put;
}

/// The tokens of generation_config.json's (and config.json's) list of EOS that no reader ends at by itself: GGUF's keys for the end of a
/// turn and of a message, where they are free, give the first two to every reader, and this project's own key gives the others.
void take_listed_ends(const Settings& settings, const TokenList& tokens, SpecialTokens& special) {
  for (const SortedJson* file : {&settings.generation_config, &settings.config}) {
    for (const SortedJson& each : member(*file, "eos_token_id")) {
      if (!each.is_number_unsigned() || each.get<std::uint64_t>() >= tokens.texts.size()) continue;
      const auto token = each.get<Token>();
      const bool known = token == special.eos || token == special.eot || token == special.eom ||
                         std::find(special.more_ends.begin(), special.more_ends.end(), token) != special.more_ends.end();
      if (known || text::is_end_name(tokens.texts[static_cast<std::size_t>(token)], tokens.types[static_cast<std::size_t>(token)]))
        continue;
      if (special.eot < 0) {
        special.eot = token;
      } else if (special.eom < 0) {
        special.eom = token;
      } else {
        special.more_ends.push_back(token);
      }
    }
  }
}

}  // namespace

void add_extra_tokens(const std::string& folder, const SortedJson& tokenizer_config, TokenList& tokens) {
  add_added_tokens_json(folder + "/added_tokens.json", tokens);
  add_decoder(member(tokenizer_config, "added_tokens_decoder"), folder + "/tokenizer_config.json", tokens);
  if (tokens.has_free_rows()) add_tokens_of_json(folder + "/tokenizer.json", tokens);
}

SpecialTokens find_special_tokens(const std::string& folder, const SortedJson& tokenizer_config, const model::TokenizerFacts& facts,
                                  SourceTokenizer& source) {
  const Settings settings{tokenizer_config, read_json_object_if_there(folder + "/special_tokens_map.json"),
                          read_json_object_if_there(folder + "/config.json"), read_json_object_if_there(folder + "/generation_config.json"),
                          folder};
  TokenList& tokens = source.tokens;
  mark_additional(settings.tokenizer_config, tokens);
  mark_additional(settings.special_tokens_map, tokens);
  SpecialTokens special;
  const Token bos_name = named(settings, "bos_token", tokens);
  const Token eos_name = named(settings, "eos_token", tokens);
  special.bos = first_of({at_end_of_text(source.text_begin, bos_name, "BOS", tokens), numbered(settings, "bos_token", tokens), source.bos});
  special.eos = first_of({at_end_of_text(source.text_end, eos_name, "EOS", tokens), numbered(settings, "eos_token", tokens), source.eos});
  const auto of_family = [&](std::string_view written) { return written.empty() ? Token{-1} : tokens.find(std::string(written)); };
  special.eot = first_of({named(settings, "eot_token", tokens), of_family(facts.eot)});
  take_listed_ends(settings, tokens, special);
  special.unknown = first_of({named(settings, "unk_token", tokens), source.unknown, of_family(facts.unknown)});
  special.padding = first_of({named(settings, "pad_token", tokens), numbered(settings, "pad_token", tokens), source.padding});
  return special;
}

}  // namespace skipstone::convert
