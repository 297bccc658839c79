#include "fuzz/api/caller.h"

#include <gtest/gtest.h>

namespace skipstone::fuzz {

void expect(bool holds, const char* call, const char* otherwise) { EXPECT_TRUE(holds) << call << ": " << otherwise; }

Caller::~Caller() {
  skipstone_session_free(session_);
  skipstone_chat_parser_free(parser_);
  skipstone_chat_free(chat_);
}

void Caller::step() {
  const auto& calls = one_in(3) ? text_calls() : one_in(4) ? other_calls() : session_calls();
  (this->*calls[random_.below(calls.size())])();
}

bool Caller::taken(skipstone_status status, const char* what) {
  ++calls_;
  if (status == SKIPSTONE_OK) return true;
  ++refused_;
  const std::string sentence = skipstone_last_error();
  EXPECT_FALSE(sentence.empty()) << what << " gives no sentence";
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << what << ": " << sentence;
  EXPECT_STRNE(skipstone_status_name(status), "unknown") << what;
  EXPECT_NE(status, SKIPSTONE_INTERNAL) << what << ": " << sentence;
  return false;
}

void Caller::text_given(skipstone_status status, const char* what, char*& text) {
  const bool given = taken(status, what);
  expect(given == (text != nullptr), what, "a text stands for success, and none for refusal");
  skipstone_string_free(text);
}

const char* Caller::any_text() {
  if (one_in(60)) return nullptr;
  static const std::vector<std::string> some = {"",  "the quick brown fox", "a", "\xff\xfe", "{\"a\": ", "[]", "{}", "\x01\n\t", "none",
                                                "-1"};
  if (one_in(40)) {
    text_.assign(random_.below(2) == 0 ? 2000 : 100000, 'a');
    return text_.c_str();
  }
  return some[random_.below(some.size())].c_str();
}

skipstone_session* Caller::a_session() { return one_in(30) ? nullptr : session_ == nullptr || one_in(4) ? shared_.session : session_; }

skipstone_chat* Caller::a_chat() { return one_in(30) ? nullptr : chat_ == nullptr || one_in(4) ? shared_.chat : chat_; }

std::size_t Caller::a_count(std::size_t real) {
  if (!one_in(6)) return random_.below(real + 1);
  return either<std::size_t>({std::size_t{1} << 32, std::size_t{1} << 60, (std::size_t{1} << 62) + 1, SIZE_MAX, SIZE_MAX / 4});
}

const skipstone_token* Caller::tokens(std::size_t& count) {
  tokens_.resize(8);
  for (skipstone_token& token : tokens_) token = static_cast<skipstone_token>(3 + random_.below(256));
  if (one_in(20)) tokens_[0] = either<skipstone_token>({-1, INT32_MAX, INT32_MIN, 1 << 20});
  count = a_count(tokens_.size());
  return one_in(30) ? nullptr : tokens_.data();
}

int Caller::in_callback() {
  if (depth_ < 2 && one_in(3)) {
    ++depth_;
    const std::vector<skipstone_token> kept = tokens_;
    step();
    --depth_;
  }
  return one_in(6) ? 1 : 0;
}

int Caller::on_progress(const char* stage, double done, void* self) {
  expect(stage != nullptr && done >= 0 && done <= 1, "progress", "it has a stage, and 0 to 1 of it are done");
  return static_cast<Caller*>(self)->in_callback();
}

int Caller::on_chunk(const skipstone_chunk* chunk, void* self) {
  expect(chunk->struct_size == sizeof(*chunk) && chunk->text[chunk->bytes] == '\0', "chunk", "it is whole");
  return static_cast<Caller*>(self)->in_callback();
}

int Caller::on_event(const skipstone_chat_event* event, void* self) {
  expect(event->text[event->bytes] == '\0' && event->raw[event->raw_bytes] == '\0', "event", "it is whole");
  return static_cast<Caller*>(self)->in_callback();
}

skipstone_token Caller::on_sample(const float*, size_t vocabulary, const skipstone_token*, size_t count, void* self) {
  auto& caller = *static_cast<Caller*>(self);
  if (caller.one_in(20)) caller.in_callback();
  return caller.one_in(50) ? -1 : static_cast<skipstone_token>(count * 7 % vocabulary);
}

}  // namespace skipstone::fuzz
