#include "exec/pass_merger.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

namespace skipstone::exec {
namespace {

/// How long those of the last pass are waited for, as a share of that pass.
constexpr int waiting_share = 8;

/// What the rows of several sequences can be side by side in.
bool can_merge(const PassSpec& spec) {
  return !spec.prompt && !spec.last_row_only && spec.keep_after == 0 && spec.layers.begin == 0 && spec.cosines == Cosines::none &&
         spec.step == RoundStep::none && spec.output != Output::hidden;
}

}  // namespace

struct PassMerger::Request {
  Member& member;
  const PassSpec* spec = nullptr;  ///< null: `work`
  SequenceRows rows = {};
  PassResults* results = nullptr;
  const Meanwhile* meanwhile = nullptr;
  const std::function<void(PassRunner&)>* work = nullptr;
  Clock::time_point asked = Clock::now();
  std::atomic<bool> done = false;  ///< it is not among those that wait any more, and `failed` is what it stays
  std::exception_ptr failed = {};

  bool is_prompt() const { return spec != nullptr && spec->prompt; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(rows.rows.tokens.size()); }
  /// Whether both can have what they ask for in one pass: of one with logits, rows that asked for candidates have logits.
  static bool can_share(Output a, Output b) {
    const auto samples = [](Output output) { return output == Output::logits || output == Output::candidates; };
    return a == b || (samples(a) && samples(b));
  }
  /// Trees and chains go together: a chain is a tree without branches.
  bool goes_with(const Request& other) const {
    if (spec == nullptr || other.spec == nullptr || !can_merge(*spec) || !can_merge(*other.spec)) return false;
    return spec->layers == other.spec->layers && can_share(spec->output, other.spec->output) && spec->kv_only == other.spec->kv_only &&
           spec->window == other.spec->window && rows.rows.window == other.rows.rows.window && !(spec->window && other.spec->tree);
  }
};

PassMerger::PassMerger(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder,
                       const model::Config& config, const model::Weights& weights, const SequenceShape& shape, StageRing* ring)
    : device_(device),
      library_(library),
      builder_(builder),
      config_(config),
      weights_(weights),
      shape_(shape),
      ring_(ring),
      cache_(device, config, shape),
      runner_(device, library, builder, config, weights, shape, cache_.buffers(), ring) {
  if (ring == nullptr) return;
  whole_elsewhere_ = std::make_unique<RingStore>(*ring, false);
  windowed_elsewhere_ = std::make_unique<RingStore>(*ring, true);
  cache_.whole().add(*whole_elsewhere_);
  cache_.windowed().add(*windowed_elsewhere_);
}

std::unique_ptr<PassRunner> PassMerger::new_runner() {
  return std::make_unique<PassRunner>(device_, library_, builder_, config_, weights_, shape_, cache_.buffers(), ring_);
}

void PassMerger::run(Member& member, const PassSpec& spec, const SequenceRows& rows, PassResults& results, const Meanwhile& meanwhile) {
  Request request{.member = member, .spec = &spec, .rows = rows, .results = &results, .meanwhile = &meanwhile};
  wait_and_run(request);
}

void PassMerger::run_alone(Member& member, const std::function<void(PassRunner&)>& work) {
  Request request{.member = member, .work = &work};
  wait_and_run(request);
}

void PassMerger::wait_and_run(Request& request) {
  Member::Wake& wake = *request.member.wake_;
  std::unique_lock lock(mutex_);
  forget(request.member);
  waiting_.push_back(&request);
  // The oldest waits for this one, perhaps.
  std::shared_ptr<Member::Wake> other;
  if (const Request* oldest = next(); !running_ && oldest != &request && may_run(*oldest)) other = oldest->member.wake_;
  while (!request.done) {
    const bool mine = !running_ && next() == &request;
    if (mine && may_run(request)) {
      try {
        lead(lock, request);
      } catch (...) {  // no memory to begin with
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
    const bool signalled = mine ? wake.try_acquire_until(until) : (wake.acquire(), true);
    if (request.done) break;
    lock.lock();
    // Whoever has not asked by then is not expected any more.
    if (!signalled && !running_ && !request.done && next() == &request) expected_.clear();
  }
  if (lock.owns_lock()) lock.unlock();
  if (request.failed) std::rethrow_exception(request.failed);
}

void PassMerger::rest(Member& member) {
  std::shared_ptr<Member::Wake> other;
  {
    const std::lock_guard lock(mutex_);
    forget(member);
    free_kept_rows(member);
    member.rows_of_others_ = 0;
    other = next_to_wake();
  }
  if (other) other->release();
}

bool PassMerger::take_kept_rows(Member& member, bool wait) {
  std::unique_lock lock(mutex_);
  const auto free = [&] { return keeper_ == nullptr || keeper_ == &member; };
  if (wait) kept_rows_free_.wait(lock, free);
  if (!free()) return false;
  keeper_ = &member;
  return true;
}

void PassMerger::give_kept_rows(Member& member) {
  const std::lock_guard lock(mutex_);
  free_kept_rows(member);
}

void PassMerger::free_kept_rows(const Member& member) {
  if (keeper_ != &member) return;
  keeper_ = nullptr;
  kept_rows_free_.notify_one();
}

// The oldest; of prompts and decoding in turn, where both wait.
PassMerger::Request* PassMerger::next() const {
  const auto oldest = [&](bool prompt) {
    const auto found = std::ranges::find_if(waiting_, [&](const Request* request) { return request->is_prompt() == prompt; });
    return found == waiting_.end() ? nullptr : *found;
  };
  Request* prompt = oldest(true);
  Request* decoding = oldest(false);
  if (prompt == nullptr || decoding == nullptr) return prompt != nullptr ? prompt : decoding;
  return after_prompt_ ? decoding : prompt;
}

bool PassMerger::may_run(const Request& request) const { return expected_.empty() || request.is_prompt() || after_prompt_; }

PassMerger::Clock::time_point PassMerger::deadline(const Request& request) const { return request.asked + pass_time_ / waiting_share; }

std::shared_ptr<PassMerger::Member::Wake> PassMerger::next_to_wake() const {
  const Request* request = running_ ? nullptr : next();
  return request == nullptr ? nullptr : request->member.wake_;
}

std::vector<PassMerger::Request*> PassMerger::group_of(Request& first) const {
  std::vector<Request*> group{&first};
  std::uint32_t rows = first.count();
  for (Request* request : waiting_) {
    if (request == &first || !request->goes_with(first) || rows + request->count() > STEP_VERIFY_ROWS) continue;
    rows += request->count();
    group.push_back(request);
  }
  return group;
}

void PassMerger::execute(std::vector<Request*>& group) {
  Request& first = *group.front();
  if (first.work != nullptr) return (*first.work)(runner_);
  if (group.size() == 1) {
    return runner_.run(*first.spec, first.rows, *first.results, nullptr, *first.meanwhile);
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
  runner_.run(spec, sequences);
  std::uint32_t row = 0;
  for (Request* request : group) {
    runner_.collect(spec, row, request->count(), *request->results);
    row += request->count();
  }
}

void PassMerger::lead(std::unique_lock<std::mutex>& lock, Request& first) {
  std::vector<Request*> group = group_of(first);
  std::vector<std::shared_ptr<Member::Wake>> woken;
  woken.reserve(group.size() + 1);
  expected_.reserve(expected_.size() + group.size());
  // From here on nothing throws but the pass, so that nobody is left waiting.
  std::erase_if(waiting_, [&](const Request* request) { return std::ranges::find(group, request) != group.end(); });
  running_ = true;
  lock.unlock();
  std::exception_ptr failed;
  const Clock::time_point began = Clock::now();
  try {
    execute(group);
  } catch (...) {
    failed = std::current_exception();
  }
  const Clock::duration took = Clock::now() - began;
  lock.lock();
  running_ = false;
  std::uint32_t rows = 0;
  for (const Request* request : group) rows += request->count();
  after_prompt_ = first.is_prompt();
  (after_prompt_ ? totals_.prompt_passes : totals_.passes) += 1;
  (after_prompt_ ? totals_.prompt_rows : totals_.rows) += rows;
  if (group.size() > 1) ++totals_.merged;
  if (std::ranges::all_of(group, [](const Request* r) { return r->spec != nullptr && r->spec->output == Output::candidates; }))
    totals_.candidate_rows += rows;
  if (!after_prompt_ && first.work == nullptr) pass_time_ = took;
  for (Request* request : group) {
    request->failed = failed;
    request->member.rows_of_others_ = rows - request->count();
    if (!after_prompt_) expected_.push_back(&request->member);
    if (request != &first) woken.push_back(request->member.wake_);
  }
  if (auto next = next_to_wake()) woken.push_back(std::move(next));
  // From here on the requests may be gone.
  for (Request* request : group) request->done = true;
  lock.unlock();
  for (const auto& wake : woken) wake->release();
}

bool PassMerger::in_company(const Member& member) const {
  const std::lock_guard lock(mutex_);
  return running_ || !waiting_.empty() || std::ranges::any_of(expected_, [&](const Member* other) { return other != &member; });
}

std::uint32_t PassMerger::rows_of_others(const Member& member) const {
  const std::lock_guard lock(mutex_);
  return member.rows_of_others_;
}

PassMerger::Totals PassMerger::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace skipstone::exec
