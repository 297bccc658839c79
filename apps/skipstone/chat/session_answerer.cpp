#include "chat/session_answerer.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "options/session_options.h"
#include "results/device_note.h"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"

namespace cli::chat {
namespace {

std::string json_text(const skipstone::Json& json) { return json.dump(-1, ' ', false, skipstone::Json::error_handler_t::strict); }

std::optional<Piece> piece_of(const skipstone_chat_event& event) {
  switch (event.kind) {
    case SKIPSTONE_CHAT_TEXT:
      return Piece{.kind = Piece::Kind::text, .text = {event.text, event.bytes}};
    case SKIPSTONE_CHAT_REASONING:
      return Piece{.kind = Piece::Kind::reasoning, .text = {event.text, event.bytes}};
    case SKIPSTONE_CHAT_TOOL_CALL_BEGIN:
      return Piece{.kind = Piece::Kind::call_begin, .text = event.name, .id = event.id};
    case SKIPSTONE_CHAT_TOOL_CALL_ARGUMENTS:
      return Piece{.kind = Piece::Kind::call_arguments, .text = {event.text, event.bytes}};
    case SKIPSTONE_CHAT_TOOL_CALL_END:
      return Piece{.kind = Piece::Kind::call_end, .complete = event.complete != 0};
    default:
      return std::nullopt;
  }
}

/// Ids that are made up differ between conversations.
std::string parser_options(const Conversation& conversation, const std::string& prompt_end, const std::vector<std::string>& stop) {
  std::random_device device;
  skipstone::Json used_ids = skipstone::Json::array();
  for (const Message& message : conversation.messages()) {
    for (const ToolCall& call : message.calls) used_ids.push_back(call.id);
  }
  const std::uint64_t seed = std::uint64_t{device()} << 32 | device();
  return json_text({{"prompt", prompt_end}, {"stop", stop}, {"id_seed", seed}, {"used_ids", std::move(used_ids)}});
}

}  // namespace

SessionAnswerer::SessionAnswerer(const skipstone::Engine& engine, const std::string& chat_template, const skipstone_session_params& params,
                                 AnswerLimits limits)
    : engine_(engine),
      chat_(engine, chat_template),
      prompt_([this](const std::string& messages) { return chat_.show(messages); }),
      params_(params),
      draft_(params.draft),
      limits_(std::move(limits)),
      end_tokens_(chat_.end_tokens()) {
  if (limits_.grammar) params_.grammar = limits_.grammar->get();
  if (const char* const error = chat_.info().error; *error != '\0') fail(ExitCode::bad_model, "{}", error);
  renew();
}

/// Creates a session with the current parameters and a copy of the last one's cache.
void SessionAnswerer::renew() {
  params_.draft = draft_.c_str();
  auto session = std::make_unique<skipstone::Session>(make_session(engine_, params_));
  session->set_stop(chat_.stop_strings());
  if (session_) session->copy_from(*session_);
  session_ = std::move(session);
  answered_ = false;
}

/// The end of the prompt says whether an answer begins within its reasoning.
void SessionAnswerer::constrain(const std::string& prompt_end) {
  if (!limits_.grammar || (grammar_ && prompt_end_ == prompt_end)) return;
  grammar_ = limits_.grammar->answers_of(chat_, prompt_end);
  prompt_end_ = prompt_end;
  params_.grammar = grammar_->get();
  renew();
}

void SessionAnswerer::set_drafter(const std::string& specification) {
  const std::string before = std::exchange(draft_, specification);
  try {
    params_.draft = draft_.c_str();
    skipstone::check(skipstone_session_check_params(&params_));
    renew();
  } catch (...) {
    draft_ = before;
    params_.draft = draft_.c_str();
    throw;
  }
}

bool SessionAnswerer::reseed() {
  if (params_.temperature <= 0) return false;
  ++params_.seed;
  renew();
  return true;
}

std::string SessionAnswerer::statistics() const { return answered_ ? statistics_text(run_statistics(), device_text(engine_)) : ""; }

/// The suffix of `tokens` that is not in the session's cache; rolls back cached tokens that differ. The last token is always processed
/// again, since a continuation needs one.
std::vector<skipstone_token> SessionAnswerer::unread(const std::vector<skipstone_token>& tokens) {
  held_.resize(std::min(held_.size(), session_->length()));
  const auto common = static_cast<std::size_t>(std::ranges::mismatch(held_, tokens).in1 - held_.begin());
  const std::size_t kept = std::min(common, tokens.empty() ? 0 : tokens.size() - 1);
  if (session_->length() > kept) session_->rewind(session_->length() - kept);
  held_ = tokens;
  return {tokens.begin() + static_cast<std::ptrdiff_t>(kept), tokens.end()};
}

/// False if the answer ends with this token.
bool SessionAnswerer::push(skipstone::ChatParser& parser, const skipstone_chunk& chunk, const skipstone::OnChatEvent& on_event) const {
  if (chunk.bytes > 0) parser.push(std::string_view(chunk.text, chunk.bytes), on_event);
  if (chunk.token < 0 || chunk.bytes > 0) return true;
  // A control token has no text of its own, but it may be a format marker such as "<tool_call>"; the parser knows which.
  if (engine_.piece(chunk.token).empty()) parser.push(chunk.token, on_event);
  return std::ranges::find(end_tokens_, chunk.token) == end_tokens_.end();
}

Turn SessionAnswerer::answer(const Conversation& conversation, const std::function<bool(const Piece&)>& on_piece) {
  const Prompt prompt = prompt_.take(conversation);
  constrain(prompt.end);
  const std::vector<skipstone_token> tokens = unread(prompt.tokens);
  skipstone::ChatParser parser(chat_, parser_options(conversation, prompt.end, limits_.stop));
  bool drafted = false, stopped = false, ended = false;
  const skipstone::OnChatEvent on_event = [&](const skipstone_chat_event& event) {
    std::optional<Piece> piece = piece_of(event);
    if (!piece) return true;
    piece->drafted = drafted;
    // The parser continues: text that it has read is part of the answer, whether or not it is still shown.
    stopped = !on_piece(*piece) || stopped;
    return true;
  };
  try {
    const interrupt::Interruptible interruptible(*session_);
    session_->generate(tokens, limits_.tokens, [&](const skipstone_chunk& chunk) {
      drafted = chunk.drafted != 0;
      ended = ended || !push(parser, chunk, on_event) || !parser.stop_text().empty();
      return !ended && !stopped;
    });
  } catch (...) {
    session_->reset();
    held_.clear();
    throw;
  }
  drafted = false;
  parser.finish(on_event);
  const std::vector<skipstone_token> said = session_->tokens();
  held_.insert(held_.end(), said.begin(), said.end());
  answered_ = true;
  at_stop_text_ = !parser.stop_text().empty();
  return turn_of(ended);
}

/// The session knows no stop text: to it, one is a caller who stops.
RunStatistics SessionAnswerer::run_statistics() const {
  RunStatistics statistics = read_statistics(*session_);
  if (at_stop_text_) statistics.stop_reason = skipstone_stop_reason_name(SKIPSTONE_STOP_STRING);
  return statistics;
}

Turn SessionAnswerer::turn_of(bool ended) const {
  const skipstone_stats stats = session_->stats();
  return {.interrupted = stats.stop_reason == SKIPSTONE_STOP_CANCELLED && !ended,
          .context_full = stats.stop_reason == SKIPSTONE_STOP_CONTEXT_FULL,
          .out_of_tokens = stats.stop_reason == SKIPSTONE_STOP_MAX_TOKENS,
          .tokens = stats.generated_tokens,
          .read_tokens = stats.prompt_tokens,
          .rounds = stats.rounds,
          .seconds = stats.generation_seconds,
          .drafter = read_statistics(*session_).drafter};
}

}  // namespace cli::chat
