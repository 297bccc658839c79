#include "chat/session_answerer.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "interrupt.h"
#include "session_options.h"
#include "statistics.h"

namespace cli::chat {
namespace {

constexpr std::size_t prompt_end_bytes = 256;  // of the prompt's end that a parser gets: enough for any tag

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::strict);
}

/// Takes care that a signal never meets a session that is gone, nor one that generates nothing.
class Interruptible {
 public:
  explicit Interruptible(skipstone::Session& session) { interrupt::set_session(session.get()); }
  ~Interruptible() { interrupt::set_session(nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

/// Carries pieces out of the C callbacks, and exceptions with them.
struct Relay {
  const std::function<bool(const Piece&)>& on_piece;
  bool drafted = false;
  bool stopped = false;
  std::exception_ptr thrown = {};
};

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
      return Piece{.kind = Piece::Kind::call_end};
    default:
      return std::nullopt;
  }
}

int on_event(const skipstone_chat_event* event, void* user_data) noexcept {
  Relay& relay = *static_cast<Relay*>(user_data);
  try {
    std::optional<Piece> piece = piece_of(*event);
    if (!piece) return 0;
    piece->drafted = relay.drafted;
    // The parser goes on: what it has taken in is part of the answer, whether anybody still looks or not.
    if (!relay.on_piece(*piece)) relay.stopped = true;
    return 0;
  } catch (...) {
    relay.thrown = std::current_exception();
    return 1;
  }
}

void check(skipstone_status status, const Relay& relay) {
  if (relay.thrown) std::rethrow_exception(relay.thrown);
  skipstone::check(status);
}

}  // namespace

SessionAnswerer::SessionAnswerer(const skipstone::Engine& engine, const std::string& chat_template, const skipstone_session_params& params,
                                 AnswerLimits limits)
    : engine_(engine), params_(params), draft_(params.draft), limits_(std::move(limits)) {
  skipstone_chat_params chat_params;
  skipstone_chat_params_init(&chat_params, sizeof(chat_params));
  chat_params.chat_template = chat_template.c_str();
  skipstone_chat* chat = nullptr;
  skipstone::check(skipstone_chat_create(engine_.get(), &chat_params, &chat));
  chat_.reset(chat);
  const skipstone_chat_info about = info();
  end_tokens_.assign(about.end_tokens, about.end_tokens + about.end_token_count);
  limits_.stop.insert(limits_.stop.end(), about.stop_strings, about.stop_strings + about.stop_string_count);
  renew();
}

skipstone_chat_info SessionAnswerer::info() const {
  skipstone_chat_info info{};
  info.struct_size = sizeof(info);
  skipstone::check(skipstone_chat_get_info(chat_.get(), &info));
  return info;
}

/// A session with the parameters as they are now, and with what the last one has read.
void SessionAnswerer::renew() {
  params_.draft = draft_.c_str();
  auto session = std::make_unique<skipstone::Session>(make_session(engine_, params_));
  session->set_stop(limits_.stop);
  if (session_) session->copy_from(*session_);
  session_ = std::move(session);
  answered_ = false;
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

std::string SessionAnswerer::statistics() const { return answered_ ? statistics_text(read_statistics(*session_)) : ""; }

std::vector<skipstone_token> SessionAnswerer::render(const Conversation& conversation) const {
  skipstone_token* tokens = nullptr;
  std::size_t count = 0;
  skipstone::check(skipstone_chat_render(chat_.get(), json_text(conversation.json()).c_str(), nullptr, nullptr, &tokens, &count));
  const std::unique_ptr<skipstone_token, void (*)(skipstone_token*)> owner(tokens, skipstone_tokens_free);
  return {tokens, tokens + count};
}

/// What of `tokens` the session has not read yet; takes back what it has read beyond them. The last token is always read again, for a
/// continuation needs one.
std::vector<skipstone_token> SessionAnswerer::unread(const std::vector<skipstone_token>& tokens) {
  held_.resize(std::min(held_.size(), session_->length()));
  const auto common = static_cast<std::size_t>(std::ranges::mismatch(held_, tokens).in1 - held_.begin());
  const std::size_t kept = std::min(common, tokens.empty() ? 0 : tokens.size() - 1);
  if (session_->length() > kept) session_->rewind(session_->length() - kept);
  held_ = tokens;
  return {tokens.begin() + static_cast<std::ptrdiff_t>(kept), tokens.end()};
}

SessionAnswerer::Parser SessionAnswerer::make_parser(const Conversation& conversation) const {
  char* shown = nullptr;
  skipstone::check(skipstone_chat_show(chat_.get(), json_text(conversation.json()).c_str(), nullptr, nullptr, &shown));
  const std::unique_ptr<char, void (*)(char*)> owner(shown, skipstone_string_free);
  std::string prompt = nlohmann::json::parse(shown).at("text").get<std::string>();
  std::size_t from = prompt.size() - std::min(prompt.size(), prompt_end_bytes);
  while (from < prompt.size() && (static_cast<unsigned char>(prompt[from]) & 0xc0) == 0x80) ++from;
  skipstone_chat_parser* parser = nullptr;
  skipstone::check(skipstone_chat_parser_create(chat_.get(), json_text({{"prompt", prompt.substr(from)}}).c_str(), &parser));
  return Parser(parser);
}

/// False where the answer ends with this token.
bool SessionAnswerer::push(skipstone_chat_parser* parser, const skipstone_chunk& chunk, void* user_data) const {
  Relay& relay = *static_cast<Relay*>(user_data);
  relay.drafted = chunk.drafted != 0;
  if (chunk.bytes > 0) check(skipstone_chat_parser_push_text(parser, chunk.text, chunk.bytes, on_event, &relay), relay);
  if (chunk.token < 0) return true;
  if (std::ranges::find(end_tokens_, chunk.token) != end_tokens_.end()) return false;
  // A control token has no text of its own, but it may be a mark: "<tool_call>".
  if (chunk.bytes == 0 && engine_.piece(chunk.token).empty())
    check(skipstone_chat_parser_push(parser, chunk.token, on_event, &relay), relay);
  return true;
}

Turn SessionAnswerer::answer(const Conversation& conversation, const std::function<bool(const Piece&)>& on_piece) {
  const std::vector<skipstone_token> tokens = unread(render(conversation));
  const Parser parser = make_parser(conversation);
  Relay relay{.on_piece = on_piece};
  bool ended = false;
  try {
    const Interruptible interruptible(*session_);
    session_->generate(tokens, limits_.tokens, [&](const skipstone_chunk& chunk) {
      ended = ended || !push(parser.get(), chunk, &relay);
      return !ended && !relay.stopped;
    });
  } catch (...) {
    session_->reset();
    held_.clear();
    throw;
  }
  relay.drafted = false;
  check(skipstone_chat_parser_finish(parser.get(), on_event, &relay), relay);
  const std::vector<skipstone_token> said = session_->tokens();
  held_.insert(held_.end(), said.begin(), said.end());
  answered_ = true;
  return turn_of(ended);
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
