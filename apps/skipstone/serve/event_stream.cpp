#include "serve/event_stream.h"

#include <utility>

#include "serve/anthropic_answer.h"

namespace cli::serve {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view event_stream_type = "text/event-stream; charset=utf-8";
constexpr milliseconds header_after{100};  // an error that is found sooner has a status of its own
constexpr milliseconds comment_after{1000};

}  // namespace

unsigned EventStream::respond(HttpReply reply) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true) || !begun_) return exchange_->respond(std::move(reply));
  if (form_ == Form::messages) reply = anthropic::with_error_form(std::move(reply));
  const bool classic = form_ == Form::chat || form_ == Form::completion;
  exchange_->send((classic ? "data: " : "event: error\ndata: ") + reply.body + "\n\n");
  if (classic) exchange_->send("data: [DONE]\n\n");
  exchange_->end();
  return reply.status;
}

void EventStream::begin(std::string_view type, const Headers& headers) {
  const std::lock_guard lock(mutex_);
  last_ = Clock::now();
  if (!std::exchange(begun_, true)) exchange_->begin(type, headers);
}

void EventStream::send(std::string piece) {
  const std::lock_guard lock(mutex_);
  last_ = Clock::now();
  if (!std::exchange(begun_, true)) exchange_->begin(event_stream_type);
  exchange_->send(std::move(piece));
}

void EventStream::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  exchange_->end();
}

void EventStream::keep_alive(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto silent = now - last_;
  if (ended_ || silent < header_after) return;
  if (!std::exchange(begun_, true)) exchange_->begin(event_stream_type);
  if (silent < comment_after) return;
  exchange_->send(": the answer is on its way\n\n");
  last_ = now;
}

}  // namespace cli::serve
