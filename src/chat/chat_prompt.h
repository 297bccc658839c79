// A model's chat template together with its tokenizer: conversations to the tokens that the model reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "chat/output/output_format.h"
#include "text/tokenizer.h"

namespace skipstone::chat {

/// Where a template came from. The values are those of skipstone_chat_source.
enum class Source { model = 0, named = 1, given = 2, vocabulary = 3, plain = 4 };

/// A part of a prompt, for display.
struct Piece {
  std::string text;
  jinja::Origin origin = jinja::Origin::template_text;
  text::Token token = -1;  ///< of a special token; -1 for spelled text
};

/// A conversation's text as its template writes it, and where special tokens are in it: found once for its tokens and for its pieces.
struct RenderedPrompt {
  jinja::Text text;
  std::vector<text::Stretch> stretches;
};

/// Immutable; safe to use from many threads.
class ChatPrompt {
 public:
  /// `wanted`: as skipstone_chat_params.chat_template says; `own`: the model's. `tokenizer` is shared with it. Throws not_found for unknown
  /// names, invalid_argument for an invalid wanted template, bad_file for an invalid one of the model's that is asked for by its name. With
  /// an invalid usual one of the model's, error() says why, and rendering throws unsupported.
  ChatPrompt(std::shared_ptr<const text::Tokenizer> tokenizer, const std::vector<text::ChatTemplate>& own, const std::string& wanted);

  const std::string& name() const { return name_; }
  Source source() const { return source_; }
  const ChatTemplate& chat_template() const { return *template_; }
  /// That of conversations with tools: the model's template "tool_use" where it has one beside its own.
  const ChatTemplate& tool_template() const { return tool_template_ ? *tool_template_ : *template_; }
  /// The format of answers to conversations with tools, or to others.
  const OutputFormat& output_format(bool tools) const { return tools ? tool_format_ : *format_; }
  const std::string& error() const { return error_; }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  const std::vector<text::Token>& end_tokens() const { return end_tokens_; }
  const std::vector<std::string>& stop_strings() const { return stop_strings_; }

  RenderedPrompt render(const Conversation& conversation) const;
  /// With BOS in front where the vocabulary asks for it and the template has not written it, perhaps after white space.
  std::vector<text::Token> tokens(const RenderedPrompt& prompt) const;
  std::vector<text::Token> tokens(const Conversation& conversation) const { return tokens(render(conversation)); }
  std::vector<Piece> pieces(const RenderedPrompt& prompt) const;
  std::vector<Piece> pieces(const Conversation& conversation) const { return pieces(render(conversation)); }

 private:
  void choose(const std::vector<text::ChatTemplate>& own, const std::string& wanted);
  void take_own(const text::ChatTemplate& own);
  void take_tool_use(const std::vector<text::ChatTemplate>& own);
  void find_formats();
  void take_usual(const text::ChatTemplate& own);
  void take(std::string name, Source source, std::string text);
  void take_builtin(std::string_view name, Source source);
  void reserve_markers();
  void add_end(text::Token token);
  void find_ends(const ChatTemplate& chat_template);
  bool needs_bos(const RenderedPrompt& prompt) const;

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::string name_, error_;
  Source source_ = Source::plain;
  std::unique_ptr<const ChatTemplate> template_;
  std::unique_ptr<const ChatTemplate> tool_template_;  ///< null: the same
  const OutputFormat* format_ = nullptr;
  OutputFormat tool_format_;
  std::vector<text::Token> reserved_;  ///< user-defined and normal tokens that the template writes: messages cannot
  std::vector<text::Token> end_tokens_;
  std::vector<std::string> stop_strings_;
};

}  // namespace skipstone::chat
