#include "exec/batch_scheduler.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

namespace skipstone::exec {
namespace {

/// Whether rows of several sequences can share a pass of `spec`.
bool can_batch(const PassSpec& spec) {
  return !spec.prompt && !spec.last_row_only && spec.keep_after == 0 && spec.layers.begin == 0 && spec.cosines == Cosines::none &&
         spec.step == RoundStep::none && spec.output != Output::hidden;
}

}  // namespace

struct BatchScheduler::Request {
  Client& client;
  const PassSpec* spec = nullptr;  ///< null: `work`
  SequenceRows rows = {};
  PassResults* results = nullptr;
  const Meanwhile* meanwhile = nullptr;
  const std::function<void(Runner&)>* work = nullptr;
  Clock::time_point asked = {};
  std::atomic<bool> done = false;  ///< it has left `waiting_`, and `failed` is final
  std::exception_ptr failed = {};

  bool is_prompt() const { return spec != nullptr && spec->prompt; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(rows.rows.tokens.size()); }
  /// Whether one pass can serve both requests: in a pass with logits, rows that requested candidates get logits.
  static bool can_share(Output a, Output b) {
    const auto samples = [](Output output) { return output == Output::logits || output == Output::candidates; };
    return a == b || (samples(a) && samples(b));
  }
  /// Trees and chains can be batched: a chain is a tree without branches.
  bool can_share_pass(const Request& other) const {
    if (spec == nullptr || other.spec == nullptr || !can_batch(*spec) || !can_batch(*other.spec)) return false;
    return spec->layers == other.spec->layers && can_share(spec->output, other.spec->output) && spec->kv_only == other.spec->kv_only &&
           spec->predicts == other.spec->predicts && spec->window == other.spec->window && rows.rows.window == other.rows.rows.window &&
           !(spec->window && other.spec->tree);
  }
};

const SchedulerClock& SchedulerClock::steady() {
  static const SchedulerClock clock;
  return clock;
}

void BatchScheduler::run(Client& client, const PassSpec& spec, const SequenceRows& rows, PassResults& results, const Meanwhile& meanwhile) {
  Request request{.client = client, .spec = &spec, .rows = rows, .results = &results, .meanwhile = &meanwhile, .asked = clock_.now()};
  wait_and_run(request);
}

void BatchScheduler::run_alone(Client& client, const std::function<void(Runner&)>& work) {
  Request request{.client = client, .work = &work, .asked = clock_.now()};
  wait_and_run(request);
}

void BatchScheduler::wait_and_run(Request& request) {
  SchedulerClock::Wake& wake = *request.client.wake_;
  std::unique_lock lock(mutex_);
  forget(request.client);
  waiting_.push_back(&request);
  // The oldest request may be waiting for this one.
  std::shared_ptr<SchedulerClock::Wake> other;
  if (const Request* oldest = next(); !running_ && oldest != &request && may_run(*oldest)) other = oldest->client.wake_;
  while (!request.done) {
    const bool mine = !running_ && next() == &request;
    if (mine && may_run(request)) {
      try {
        lead(lock, request);
      } catch (...) {  // out of memory before the pass
        std::erase(waiting_, &request);
        const auto next_one = next_to_wake();
        lock.unlock();
        if (next_one) next_one->release();
        throw;
      }
      break;
    }
    const Clock::time_point until = deadline(request);
    lock.unlock();
    if (const auto woken = std::exchange(other, {})) woken->release();
    const bool signalled = mine ? clock_.wait(wake, until) : (wake.acquire(), true);
    if (request.done) break;
    lock.lock();
    // A client that has not requested a pass by then is no longer expected.
    if (!signalled && !running_ && !request.done && next() == &request) expected_.clear();
  }
  if (lock.owns_lock()) lock.unlock();
  if (request.failed) std::rethrow_exception(request.failed);
}

void BatchScheduler::set_idle(Client& client) {
  std::shared_ptr<SchedulerClock::Wake> other;
  {
    const std::lock_guard lock(mutex_);
    forget(client);
    release_hidden_states_of(client);
    client.concurrent_rows_ = 0;
    other = next_to_wake();
  }
  if (other) other->release();
}

bool BatchScheduler::acquire_hidden_states(Client& client, bool wait) {
  std::unique_lock lock(mutex_);
  const auto free = [&] { return keeper_ == nullptr || keeper_ == &client; };
  if (wait) hidden_states_free_.wait(lock, free);
  if (!free()) return false;
  keeper_ = &client;
  return true;
}

void BatchScheduler::release_hidden_states(Client& client) {
  const std::lock_guard lock(mutex_);
  release_hidden_states_of(client);
}

void BatchScheduler::release_hidden_states_of(const Client& client) {
  if (keeper_ != &client) return;
  keeper_ = nullptr;
  hidden_states_free_.notify_one();
}

// The oldest request; prompts and decoding take turns if both wait.
BatchScheduler::Request* BatchScheduler::next() const {
  const auto oldest = [&](bool prompt) {
    const auto found = std::ranges::find_if(waiting_, [&](const Request* request) { return request->is_prompt() == prompt; });
    return found == waiting_.end() ? nullptr : *found;
  };
  Request* prompt = oldest(true);
  Request* decoding = oldest(false);
  if (prompt == nullptr || decoding == nullptr) return prompt != nullptr ? prompt : decoding;
  return after_prompt_ ? decoding : prompt;
}

bool BatchScheduler::may_run(const Request& request) const { return expected_.empty() || request.is_prompt() || after_prompt_; }

BatchScheduler::Clock::time_point BatchScheduler::deadline(const Request& request) const {
  return request.asked + pass_time_ / waiting_share;
}

std::shared_ptr<SchedulerClock::Wake> BatchScheduler::next_to_wake() const {
  const Request* request = running_ ? nullptr : next();
  return request == nullptr ? nullptr : request->client.wake_;
}

std::vector<BatchScheduler::Request*> BatchScheduler::group_of(Request& first) const {
  std::vector<Request*> group{&first};
  std::uint32_t rows = first.count();
  for (Request* request : waiting_) {
    if (request == &first || !request->can_share_pass(first) || rows + request->count() > STEP_VERIFY_ROWS) continue;
    rows += request->count();
    group.push_back(request);
  }
  return group;
}

void BatchScheduler::execute(std::vector<Request*>& group) {
  Request& first = *group.front();
  if (first.work != nullptr) return (*first.work)(runner_);
  if (group.size() == 1) {
    return runner_.run(*first.spec, first.rows, *first.results, {.meanwhile = first.meanwhile});
  }
  PassSpec spec = *first.spec;
  std::vector<SequenceRows> sequences;
  std::uint32_t rows = 0;
  for (const Request* request : group) {
    spec.tree = spec.tree || request->spec->tree;
    if (request->spec->output == Output::logits) spec.output = Output::logits;
    sequences.push_back(request->rows);
    rows += request->count();
  }
  spec.bucket = kernels::bucket_for(rows);
  runner_.run(spec, sequences, {});
  std::uint32_t row = 0;
  for (Request* request : group) {
    runner_.collect(spec, row, request->count(), *request->results);
    row += request->count();
  }
}

void BatchScheduler::lead(std::unique_lock<std::mutex>& lock, Request& first) {
  std::vector<Request*> group = group_of(first);
  std::vector<std::shared_ptr<SchedulerClock::Wake>> woken;
  woken.reserve(group.size() + 1);
  expected_.reserve(expected_.size() + group.size());
  // From here on only the pass may throw, so that no client is left waiting.
  std::erase_if(waiting_, [&](const Request* request) { return std::ranges::find(group, request) != group.end(); });
  running_ = true;
  lock.unlock();
  std::exception_ptr failed;
  const Clock::time_point began = clock_.now();
  try {
    execute(group);
  } catch (...) {
    failed = std::current_exception();
  }
  const Clock::duration took = clock_.now() - began;
  lock.lock();
  running_ = false;
  std::uint32_t rows = 0;
  for (const Request* request : group) rows += request->count();
  after_prompt_ = first.is_prompt();
  (after_prompt_ ? totals_.prompt_passes : totals_.passes) += 1;
  (after_prompt_ ? totals_.prompt_rows : totals_.rows) += rows;
  if (group.size() > 1) ++totals_.batched;
  if (std::ranges::all_of(group, [](const Request* r) { return r->spec != nullptr && r->spec->output == Output::candidates; }))
    totals_.candidate_rows += rows;
  if (!after_prompt_ && first.work == nullptr) pass_time_ = took;
  for (Request* request : group) {
    request->failed = failed;
    request->client.concurrent_rows_ = rows - request->count();
    if (!after_prompt_) expected_.push_back(&request->client);
    if (request != &first) woken.push_back(request->client.wake_);
  }
  if (auto next = next_to_wake()) woken.push_back(std::move(next));
  // From here on the requests may be destroyed.
  for (Request* request : group) request->done = true;
  lock.unlock();
  for (const auto& wake : woken) wake->release();
}

bool BatchScheduler::has_concurrent_sequences(const Client& client) const {
  const std::lock_guard lock(mutex_);
  return running_ || !waiting_.empty() || std::ranges::any_of(expected_, [&](const Client* other) { return other != &client; });
}

std::uint32_t BatchScheduler::concurrent_rows(const Client& client) const {
  const std::lock_guard lock(mutex_);
  return client.concurrent_rows_;
}

std::size_t BatchScheduler::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

BatchScheduler::Totals BatchScheduler::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace skipstone::exec
