// A program that calls the C API at random: with arguments of every kind, from its callbacks too. Handles that both threads of a sequence
// have are freed when both have ended, as the header asks; a caller's own ones at any time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "fuzz/mutator.h"
#include "skipstone/skipstone.h"
#include "skipstone/skipstone_experimental.h"

namespace skipstone::fuzz {

/// What the callers of a sequence share.
struct Shared {
  std::string model, folder;
  skipstone_engine* engine = nullptr;
  skipstone_chat* chat = nullptr;
  skipstone_session* session = nullptr;
  skipstone_chat_parser* parser = nullptr;
};

/// Reports what must not be, with the call that it is of.
void expect(bool holds, const char* call, const char* otherwise);

class Caller {
 public:
  Caller(const Shared& shared, std::uint64_t seed) : shared_(shared), random_(seed) {}
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// One call of a random function.
  void step();
  /// Calls that have been made, and those that were refused.
  std::uint64_t calls() const { return calls_; }
  std::uint64_t refused() const { return refused_; }

 private:
  using Call = void (Caller::*)();
  static const std::vector<Call>& session_calls();
  static const std::vector<Call>& text_calls();
  static const std::vector<Call>& other_calls();

  // caller.cpp
  /// Whether the call was taken. A refusal has a sentence.
  bool taken(skipstone_status status, const char* what);
  /// Of a function that gives a string: none where it was refused.
  void text_given(skipstone_status status, const char* what, char*& text);
  template <typename Info>
  void info_given(const char* what, skipstone_status (*call)(Info*, Caller&));
  bool one_in(std::size_t count) { return random_.one_in(count); }
  template <typename T>
  T either(std::initializer_list<T> values) {
    return *(values.begin() + random_.below(values.size()));
  }
  const char* any_text();
  skipstone_session* a_session();
  skipstone_chat* a_chat();
  skipstone_engine* an_engine() { return one_in(30) ? nullptr : shared_.engine; }
  /// As many tokens as `count` says, or null, or a count that no array has.
  const skipstone_token* tokens(std::size_t& count);
  /// A count for an array of `real` elements: too large ones are beyond every maximum.
  std::size_t a_count(std::size_t real);
  skipstone_progress_fn a_progress() { return one_in(3) ? nullptr : &Caller::on_progress; }
  /// What a callback does; whether it asks to stop.
  int in_callback();
  static int on_progress(const char* stage, double done, void* self);
  static int on_chunk(const skipstone_chunk* chunk, void* self);
  static int on_event(const skipstone_chat_event* event, void* self);
  static skipstone_token on_sample(const float* logits, size_t vocabulary, const skipstone_token* tokens, size_t count, void* self);

  // session_calls.cpp
  void create();
  void free_own();
  void generate();
  void begin();
  void go_on();
  void prefill();
  void copy();
  void fork();
  void save_or_load();
  void set_stop();
  void rewind();
  void reset();
  void cancel();
  void numbers();
  void statistics();
  void measure();
  void check_params();

  // text_calls.cpp
  void tokenize();
  void detokenize();
  void piece();
  void render();
  void show();
  void render_template();
  void make_chat();
  void chat_info();
  void make_parser();
  void push();
  void finish();

  // other_calls.cpp
  void load();
  void engine_info();
  void names();
  void drafter_info();
  void inspect();
  void devices();
  void vulkan();
  void tools();
  void experiments();

  const Shared& shared_;
  Random random_;
  int depth_ = 0;  ///< calls within callbacks
  std::uint64_t calls_ = 0, refused_ = 0;
  skipstone_session* session_ = nullptr;
  skipstone_chat* chat_ = nullptr;
  skipstone_chat_parser* parser_ = nullptr;
  std::vector<skipstone_token> tokens_;
  std::string text_;
};

/// Calls that fill a struct: refused, it is as it was.
template <typename Info>
void Caller::info_given(const char* what, skipstone_status (*call)(Info*, Caller&)) {
  Info info;
  std::vector<unsigned char> before(sizeof(info), 0xA5);
  std::copy(before.begin(), before.end(), reinterpret_cast<unsigned char*>(&info));
  info.struct_size = either<std::size_t>({sizeof(info), sizeof(info), 0, 8, sizeof(info) - 1, std::size_t{1} << 40, SIZE_MAX});
  const std::size_t size = info.struct_size;
  std::copy_n(reinterpret_cast<const unsigned char*>(&info), sizeof(info), before.begin());
  const bool filled = taken(call(one_in(20) ? nullptr : &info, *this), what);
  const bool same = std::equal(before.begin(), before.end(), reinterpret_cast<const unsigned char*>(&info));
  expect(filled || same, what, "a refused call has written to the struct");
  expect(!filled || info.struct_size == size, what, "the struct's size has changed");
}

}  // namespace skipstone::fuzz
