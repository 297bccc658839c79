// Splits a model's answer while it is written: text, reasoning, tool calls. Nothing is lost: unreadable parts become text, and the
// events' raw texts, one after the other, are the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/output/answer_stops.h"
#include "chat/output/call.h"
#include "chat/output/call_ids.h"
#include "chat/output/call_reader.h"
#include "chat/output/event.h"
#include "chat/output/output_format.h"

namespace skipstone::chat {

struct OutputOptions {
  std::string prompt = {};  ///< the end of the rendered prompt: a template may have opened the reasoning in it
  bool reasoning = true;    ///< false: tags of reasoning are text
  CallOptions calls = {};
  std::uint64_t id_seed = 0;  ///< ids that are made up depend on it and on the call's place in the answer alone
  /// Ids of the conversation's calls: those of the answer are others, and fit the format. Nothing: ids are kept as the model writes them.
  std::optional<std::vector<std::string>> used_ids = {};
  std::vector<std::string> stop = {};  ///< the answer ends in front of the first of these texts; they do not count in the reasoning
  std::size_t longest_call = 1 << 20;  ///< bytes that may be held back before they are given up as text; at least 256
};

class OutputParser {
 public:
  /// `format` must outlive the parser; rows of output_formats() have static lifetime.
  OutputParser(const OutputFormat& format, OutputOptions options, Sink sink);
  ~OutputParser();
  OutputParser(const OutputParser&) = delete;
  OutputParser& operator=(const OutputParser&) = delete;

  /// The next chunk of the answer, split anywhere, with special tokens written out. The joined events do not depend on the splits.
  void push(std::string_view piece);

  /// A special token's text. It is no part of a stop text.
  void push_marker(std::string_view marker);

  /// Whether a stop text has ended the answer; what is pushed after it is not read.
  bool stopped() const { return stops_.stopped(); }
  /// That text; "" if none has.
  const std::string& stop_text() const { return stops_.found(); }

  /// The answer is over.
  void finish();

 private:
  enum class Phase { start, reasoning, lead, text, call };

  void run();
  bool step();
  bool step_start();
  bool step_reasoning();
  bool step_lead();
  bool step_bare(std::size_t blanks);
  bool step_closer();
  bool step_text();
  bool step_call();

  void begin_call(CallStart start, std::size_t marker_bytes);
  void take(const CallReader::Step& step);
  void emit_call(const CallReader::Step& step);
  void emit_piece(const CallReader::Step& step);
  void emit_marker(std::size_t bytes);
  void emit(const Event& event) { sink_(event); }
  bool in_answer() const;
  void begin_answer();
  std::string_view rest() const { return std::string_view(buffer_).substr(used_); }
  std::string piece(const CallReader::Step& step) const { return std::string(rest().substr(step.from, step.to - step.from)); }

  const OutputFormat& format_;
  const OutputOptions options_;
  const std::size_t longest_call_;
  Sink sink_;
  Phase phase_ = Phase::lead;
  bool ended_ = false;
  bool inside_ = false;  ///< at the start: the prompt has opened the reasoning
  int calls_ = 0;        ///< started so far
  CallIds ids_;
  AnswerStops stops_;
  std::string buffer_;
  std::size_t used_ = 0;     ///< of the buffer
  std::size_t dropped_ = 0;  ///< of the answer, in front of the buffer
  std::size_t marked_ = 0;   ///< of the answer, up to the end of the last special token
  TrimmedText text_, reasoning_;
  std::vector<std::string_view> call_markers_;  ///< in text, a call or a header may begin with
  std::vector<std::string_view> call_closers_;  ///< may follow the call that was read last
  std::vector<std::string_view> text_closers_;  ///< end a text that is in tags
  std::vector<std::string_view> reasoning_closers_;
  std::unique_ptr<CallReader> reader_;
};

}  // namespace skipstone::chat
