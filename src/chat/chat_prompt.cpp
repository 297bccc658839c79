#include "chat/chat_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/escape.h"
#include "base/log.h"
#include "base/poll.h"
#include "base/status.h"
#include "chat/chat_template.h"
#include "chat/messages.h"
#include "chat/tool_text.h"
#include "text/special_tokens.h"

namespace skipstone::chat {

using text::Token;

namespace {

std::string written(const text::Vocabulary& vocabulary, Token token) {
  return token < 0 ? std::string() : vocabulary.tokens[static_cast<std::size_t>(token)];
}

text::TokenType type_of(const text::Vocabulary& vocabulary, std::size_t token) {
  return vocabulary.types.empty() ? text::TokenType::normal : vocabulary.types[token];
}

/// The template's source and what it writes around messages: a marker may be written in parts ('<|' + role + '|>').
std::string words_of(const ChatTemplate& chat_template) {
  std::string words = chat_template.source();
  try {
    const Conversation conversation = read_conversation(
        R"([{"role": "system", "content": "."}, {"role": "user", "content": "."}, {"role": "assistant", "content": "."},
            {"role": "user", "content": "."}])",
        "", R"({"now": "2025-01-01T00:00:00"})");
    words += chat_template.render(conversation).bytes();
  } catch (const Error&) {  // it takes no such conversation
  }
  return words;
}

/// The texts in `words` that may be markers: from each opening bracket to each of the next few closing ones. A vocabulary has a million
/// tokens, each of which is looked up in them.
std::unordered_set<std::string_view> bracketed(std::string_view words) {
  constexpr std::size_t most_bytes = 128, most_closings = 4;
  std::unordered_set<std::string_view> all;
  for (std::size_t begin = words.find_first_of("<["); begin != words.npos; begin = words.find_first_of("<[", begin + 1)) {
    const std::string_view rest = words.substr(begin, most_bytes);
    std::size_t closings = 0;
    for (std::size_t end = rest.find_first_of(">] \t\r\n"); end != rest.npos && closings < most_closings; ++closings) {
      if (rest[end] != '>' && rest[end] != ']') break;
      all.insert(rest.substr(0, end + 1));
      end = rest.find_first_of(">] \t\r\n", end + 1);
    }
  }
  return all;
}

/// Whether texts are spelled with the normal token, as with pieces that training found. A token that was added is never reached by merging.
bool spells(const text::Tokenizer& tokenizer, Token token) {
  try {
    const std::vector<Token> spelled = tokenizer.encode(tokenizer.vocabulary().tokens[static_cast<std::size_t>(token)], false, false);
    return std::find(spelled.begin(), spelled.end(), token) != spelled.end();
  } catch (const Error&) {  // the vocabulary lacks a byte of it
    return false;
  }
}

std::vector<text::Span> trusted_parts(const jinja::Text& text) {
  std::vector<text::Span> parts;
  std::size_t begin = 0;
  for (const jinja::Text::Run& run : text.runs()) {
    if (run.origin == jinja::Origin::template_text) parts.push_back({begin, run.end});
    begin = run.end;
  }
  return parts;
}

std::string names_of(const std::vector<text::ChatTemplate>& own) {
  std::string names;
  for (const BuiltinTemplate& builtin : builtin_templates()) names.append(names.empty() ? "" : ", ").append(builtin.name);
  for (const text::ChatTemplate& one : own) {
    if (!one.name.empty()) names.append(", model:").append(shortened(one.name, 40));
  }
  return names;
}

ChatTemplate compiled(const text::Vocabulary& vocabulary, std::string source) {
  return {std::move(source), written(vocabulary, vocabulary.bos), written(vocabulary, vocabulary.eos)};
}

bool holds(const ChatTemplate& chat_template, std::string_view text) { return chat_template.source().find(text) != std::string::npos; }

/// Ends the reasoning that a template opens at the end of its prompt whatever its variables say.
void close_reasoning(jinja::Text& text, const OutputFormat& format) {
  const std::string_view written = text.bytes().substr(0, text.bytes().find_last_not_of(" \t\r\n") + 1);
  for (const Tags& tags : format.reasoning) {
    if (tags.open.empty() || !written.ends_with(tags.open)) continue;
    text = text.part(0, written.size());
    text.append("\n\n", jinja::Origin::template_text);
    text.append(tags.close, jinja::Origin::template_text);
    text.append("\n\n", jinja::Origin::template_text);
    return;
  }
}

}  // namespace

ChatPrompt::ChatPrompt(std::shared_ptr<const text::Tokenizer> tokenizer, const std::vector<text::ChatTemplate>& own,
                       const std::string& wanted)
    : tokenizer_(std::move(tokenizer)) {
  choose(own, wanted);
  reserve_markers();
  find_formats();
  const text::Vocabulary& vocabulary = tokenizer_->vocabulary();
  end_tokens_ = vocabulary.end_of_generation;
  add_end(vocabulary.eos);
  add_end(vocabulary.eot);
  find_ends(*template_);
  if (tool_template_) find_ends(*tool_template_);
}

void ChatPrompt::take(std::string name, Source source, std::string text) {
  template_ = std::make_unique<ChatTemplate>(compiled(tokenizer_->vocabulary(), std::move(text)));
  name_ = std::move(name);
  source_ = source;
}

void ChatPrompt::take_builtin(std::string_view name, Source source) {
  const BuiltinTemplate& builtin = *find_builtin(name);
  take(builtin.name, source, builtin.source);
  stop_strings_ = builtin.stop_strings;
}

void ChatPrompt::take_own(const text::ChatTemplate& own) {
  try {
    take(own.name.empty() ? std::string("model") : fmt::format("model:{}", own.name), Source::model, own.source);
  } catch (const Error& error) {
    fail(Code::bad_file, "the model's chat template: {}; take another with --chat-template", error.what());
  }
}

/// As transformers does where a model has several templates.
void ChatPrompt::take_tool_use(const std::vector<text::ChatTemplate>& own) {
  const auto found = std::find_if(own.begin(), own.end(), [](const text::ChatTemplate& one) { return one.name == "tool_use"; });
  if (found == own.end()) return;
  try {
    tool_template_ = std::make_unique<ChatTemplate>(compiled(tokenizer_->vocabulary(), found->source));
  } catch (const Error& error) {
    log::warning("The model's chat template 'tool_use' is not used, tools come by its usual one: {}.", error.what());
  }
}

/// Tools in words are answered in the form that the words show; reasoning is marked as the template has it.
void ChatPrompt::find_formats() {
  format_ = &detect_output_format(template_->source());
  tool_format_ = detect_output_format(tool_template().source());
  if (tool_template().can().tools) return;
  const OutputFormat own = tool_format_;
  tool_format_ = tool_text_format(tool_template().source());
  if (!own.reasoning.front().open.empty()) tool_format_.reasoning = own.reasoning;
  tool_format_.content = own.content;
}

void ChatPrompt::take_usual(const text::ChatTemplate& own) {
  try {
    take_own(own);
  } catch (const Error& error) {
    take("model", Source::model, "");
    error_ = error.what();
    log::warning("There are no chats with this model, only completions: {}.", error_);
  }
}

void ChatPrompt::choose(const std::vector<text::ChatTemplate>& own, const std::string& wanted) {
  if (wanted.find("{{") != std::string::npos || wanted.find("{%") != std::string::npos) return take("given", Source::given, wanted);
  if (!wanted.empty()) {
    const std::string of_model = wanted.rfind("model:", 0) == 0 ? wanted.substr(6) : "";
    for (const text::ChatTemplate& one : own) {
      if (wanted == "model" ? !one.name.empty() : of_model.empty() || one.name != of_model) continue;
      take_own(one);
      if (wanted == "model") take_tool_use(own);
      return;
    }
    if (find_builtin(wanted) == nullptr) {
      fail(Code::invalid_argument, "there is no chat template '{}'; there are {}", shortened(wanted, 40), names_of(own));
    }
    return take_builtin(wanted, Source::named);
  }
  const auto usual = std::find_if(own.begin(), own.end(), [](const text::ChatTemplate& one) { return one.name.empty(); });
  if (usual != own.end()) {
    take_usual(*usual);
    return take_tool_use(own);
  }
  const text::Vocabulary& vocabulary = tokenizer_->vocabulary();
  const auto has_special = [&](std::string_view token) {
    const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token);
    return found != vocabulary.tokens.end() &&
           type_of(vocabulary, static_cast<std::size_t>(found - vocabulary.tokens.begin())) != text::TokenType::normal;
  };
  for (const BuiltinTemplate& builtin : builtin_templates()) {
    const bool suggested = !builtin.tokens.empty() && std::all_of(builtin.tokens.begin(), builtin.tokens.end(), has_special);
    if (suggested) return take_builtin(builtin.name, Source::vocabulary);
  }
  take_builtin("plain", Source::plain);
}

void ChatPrompt::reserve_markers() {
  const text::Vocabulary& vocabulary = tokenizer_->vocabulary();
  std::string words = words_of(*template_);
  if (tool_template_) words += words_of(*tool_template_);
  const std::unordered_set<std::string_view> markers = bracketed(words);
  std::string normal;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto token = static_cast<Token>(i);
    const std::string& marker = vocabulary.tokens[i];
    if (!text::is_marker(marker)) continue;
    const text::TokenType type = type_of(vocabulary, i);
    if (type == text::TokenType::user_defined && (holds(*template_, marker) || holds(tool_template(), marker))) reserved_.push_back(token);
    if (type != text::TokenType::normal || !markers.contains(marker) || spells(*tokenizer_, token)) continue;
    reserved_.push_back(token);
    normal.append(normal.empty() ? "" : ", ").append(marker);
  }
  if (normal.empty()) return;
  log::warning(
      "The model file calls {} ordinary text, but its chat template writes {}: in what the template writes, these are read as tokens.",
      shortened(normal, 200), normal.find(", ") == std::string::npos ? "it" : "them");
}

void ChatPrompt::add_end(Token token) {
  if (token >= 0 && std::find(end_tokens_.begin(), end_tokens_.end(), token) == end_tokens_.end()) end_tokens_.push_back(token);
}

/// The first thing the template writes after an answer ends it: a token, or words in its place. Where an answer is several messages
/// (harmony), it ends a message alone.
void ChatPrompt::find_ends(const ChatTemplate& chat_template) {
  if (detect_output_format(chat_template.source()).syntax == CallSyntax::channels) return;
  const std::string& after = chat_template.after_answer();
  const std::size_t first = after.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return;
  const std::string_view rest = std::string_view(after).substr(first);
  const text::Span all[] = {{0, rest.size()}};
  const std::vector<text::Stretch> stretches = tokenizer_->stretches(rest, all, reserved_);
  const auto add_stop = [this](std::string stop) {
    if (std::find(stop_strings_.begin(), stop_strings_.end(), stop) == stop_strings_.end()) stop_strings_.push_back(std::move(stop));
  };
  if (const Token token = stretches.front().token; token >= 0) {
    add_end(token);
    if (!tokenizer_->piece(token).empty()) add_stop(written(tokenizer_->vocabulary(), token));  // a part of the text otherwise
    return;
  }
  const char close = rest[0] == '<' ? '>' : rest[0] == '[' ? ']' : '\0';
  const std::size_t end = close == '\0' ? std::string_view::npos : rest.find(close);
  if (end != std::string_view::npos && text::is_marker(rest.substr(0, end + 1))) add_stop(std::string(rest.substr(0, end + 1)));
}

/// Templates may write white space in front of BOS.
bool ChatPrompt::needs_bos(const RenderedPrompt& prompt) const {
  const text::Vocabulary& vocabulary = tokenizer_->vocabulary();
  if (!vocabulary.add_bos) return false;
  for (const text::Stretch& stretch : prompt.stretches) {
    if (stretch.token >= 0) return stretch.token != vocabulary.bos;
    const std::string_view text = prompt.text.bytes().substr(stretch.begin, stretch.end - stretch.begin);
    if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) return true;
  }
  return true;
}

RenderedPrompt ChatPrompt::render(const Conversation& conversation) const {
  if (!error_.empty()) fail(Code::unsupported, "{}", error_);
  const bool tools = !conversation.tools.is<jinja::Undefined>();
  jinja::Text text = (tools ? tool_template() : *template_).render(conversation);
  if (conversation.without_reasoning && conversation.add_generation_prompt) close_reasoning(text, output_format(tools));
  std::vector<text::Stretch> stretches = tokenizer_->stretches(text.bytes(), trusted_parts(text), reserved_);
  return {std::move(text), std::move(stretches)};
}

std::vector<Token> ChatPrompt::tokens(const RenderedPrompt& prompt) const {
  std::vector<Token> tokens = tokenizer_->encode(prompt.text.bytes(), prompt.stretches);
  if (needs_bos(prompt)) tokens.insert(tokens.begin(), tokenizer_->vocabulary().bos);
  return tokens;
}

std::vector<Piece> ChatPrompt::pieces(const RenderedPrompt& prompt) const {
  const auto& [text, stretches] = prompt;
  const text::Vocabulary& vocabulary = tokenizer_->vocabulary();
  std::vector<Piece> all;
  if (needs_bos(prompt)) all.push_back({written(vocabulary, vocabulary.bos), jinja::Origin::template_text, vocabulary.bos});
  for (const text::Stretch& stretch : stretches) {
    poll(4 + (stretch.end - stretch.begin) / 64);
    std::size_t begin = stretch.begin;
    const jinja::Text part = text.part(stretch.begin, stretch.end);
    for (const jinja::Text::Run& run : part.runs()) {
      const std::size_t end = stretch.token >= 0 ? stretch.end : stretch.begin + run.end;
      all.push_back({std::string(text.bytes().substr(begin, end - begin)), run.origin, stretch.token});
      begin = end;
      if (stretch.token >= 0) break;
    }
  }
  return all;
}

}  // namespace skipstone::chat
