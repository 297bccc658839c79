#include "cluster/mpi_message_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/platform/console.h"
#include "cluster/message_bytes.h"

namespace skipstone::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto between_beats = 1s;
constexpr auto patience = 5s;  // without a heartbeat
constexpr auto time_to_say = 1s;
constexpr auto patience_at_end = 5s;  // between rank 0's end and this one's
constexpr auto busy_wait = 100us;
constexpr auto shortest_nap = 50us, longest_nap = 200us;
constexpr int exit_code_of_lost_job = 1;

}  // namespace

void end_job(bool say, const std::string& sentence) {
  std::thread([] {  // in case MPI_Abort does not end the process in time
    std::this_thread::sleep_for(2s);
    platform::end_at_once(exit_code_of_lost_job);
  })
      .detach();
  if (say) log::write(log::Level::error, "{}", fmt::make_format_args(sentence));
  MPI_Abort(MPI_COMM_WORLD, exit_code_of_lost_job);
  platform::end_at_once(exit_code_of_lost_job);
}

void check_mpi(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  end_job(true, fmt::format("{} has failed between the ranks: {}; the job ends.", call,
                            std::string(text.data(), static_cast<std::size_t>(length))));
}

MessageQueue::MessageQueue(int rank, int ranks, bool (*stopped)())
    : rank_(rank), ranks_(ranks), stopped_(stopped), heard_(static_cast<std::size_t>(ranks), Clock::now()), next_heartbeat_(Clock::now()) {
  for (auto& boxes : boxes_) boxes.resize(static_cast<std::size_t>(ranks));
  thread_ = std::jthread([this] { run(); });
}

MessageQueue::~MessageQueue() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  to_send_.notify_one();
  thread_.join();
}

void MessageQueue::send(int rank, Topic topic, std::vector<std::byte> bytes) {
  {
    const std::lock_guard lock(mutex_);
    outgoing_.push_back({rank, topic, std::move(bytes)});
  }
  to_send_.notify_one();
}

Arrival MessageQueue::take(int rank, Topic topic) {
  std::unique_lock lock(mutex_);
  std::deque<Arrival>& arrivals = box(rank, topic);
  arrived_.wait(lock, [&] { return !arrivals.empty(); });
  Arrival arrival = std::move(arrivals.front());
  arrivals.pop_front();
  return arrival;
}

bool MessageQueue::has(int rank, Topic topic) {
  const std::lock_guard lock(mutex_);
  return !box(rank, topic).empty();
}

bool MessageQueue::wait_for(int rank, Topic topic) {
  std::unique_lock lock(mutex_);
  ++waiting_for_end_;
  arrived_.wait(lock, [&] { return ended_ || !box(rank, topic).empty(); });
  --waiting_for_end_;
  return !box(rank, topic).empty();
}

void MessageQueue::wait_for_end() {
  std::unique_lock lock(mutex_);
  ++waiting_for_end_;  // never decremented
  arrived_.wait(lock, [&] { return ended_; });
}

void MessageQueue::run() {
  auto last_work = Clock::now(), last_turn = last_work;
  auto nap = shortest_nap;
  for (;;) {
    const bool sent = send_some(), taken = take_some();
    const auto now = Clock::now();
    if (now - last_turn > patience / 2) {  // this process itself was suspended
      std::ranges::fill(heard_, now);
      quiet_until_ = now + patience;
    }
    if (stopped_()) end_job(rank_ == 0 && now > quiet_until_, "the job was told to end, or another of its ranks has ended; so it ends.");
    last_turn = now;
    if (now >= next_heartbeat_) heartbeat();
    check_heartbeats(now);
    check_end(now);
    if (sent || taken) {
      last_work = now;
      nap = shortest_nap;
    }
    std::unique_lock lock(mutex_);
    if (closing_ && outgoing_.empty() && sending_.empty()) return;
    if (!outgoing_.empty() || now - last_work < busy_wait) continue;
    to_send_.wait_for(lock, nap, [&] { return !outgoing_.empty(); });
    nap = std::min<std::chrono::microseconds>(2 * nap, longest_nap);
  }
}

/// Whether there was anything to send.
bool MessageQueue::send_some() {
  std::deque<Message> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(outgoing_);
  }
  for (Message& message : news) {
    Message& sent = sending_.emplace_back(std::move(message));
    check_mpi(MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, sent.rank, static_cast<int>(sent.topic),
                        MPI_COMM_WORLD, &sent.request),
              "MPI_Isend");
  }
  std::erase_if(sending_, [](Message& message) {
    int done = 0;
    check_mpi(MPI_Test(&message.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  return !news.empty();
}

bool MessageQueue::take_some() {
  bool found = false;
  for (;;) {
    int there = 0;
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &matched, &status), "MPI_Improbe");
    if (there == 0) break;
    found = true;
    int size = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
    heard_[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
    Message& message = receiving_.emplace_back(Message{status.MPI_SOURCE, static_cast<Topic>(status.MPI_TAG),
                                                       std::vector<std::byte>(static_cast<std::size_t>(std::max(size, 0)))});
    check_mpi(MPI_Imrecv(message.bytes.data(), size, MPI_BYTE, &matched, &message.request), "MPI_Imrecv");
  }
  // In order of arrival, so that each rank's messages stay in order.
  while (!receiving_.empty()) {
    int done = 0;
    check_mpi(MPI_Test(&receiving_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) break;
    found = true;
    deliver(std::move(receiving_.front()));
    receiving_.pop_front();
  }
  return found;
}

void MessageQueue::deliver(Message message) {
  if (message.topic == Topic::heartbeat) return;
  {
    const std::lock_guard lock(mutex_);
    if (message.topic == Topic::end) {
      ended_ = true;
      ended_at_ = Clock::now();
    } else {
      box(message.rank, message.topic).push_back({std::move(message.bytes), Clock::now()});
    }
  }
  arrived_.notify_all();
}

void MessageQueue::heartbeat() {
  next_heartbeat_ = Clock::now() + between_beats;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_ && (rank_ == 0 || rank == 0)) send(rank, Topic::heartbeat, {});
  }
}

/// Rank 0 checks the heartbeats of all ranks, the others that of rank 0.
void MessageQueue::check_heartbeats(Clock::time_point now) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_ || (rank_ != 0 && rank != 0) || ended_) continue;
    // Rank 1 reports the loss of rank 0; the others give it the time to.
    if (now - heard_[static_cast<std::size_t>(rank)] < (rank_ > 1 ? patience + time_to_say : patience)) continue;
    end_job(rank_ == 0 || rank_ == 1, fmt::format("rank {} has not answered for {} s; the job ends.", rank, patience.count()));
  }
}

/// Ends this rank if rank 0 has ended and this rank is still at work whose result is not needed.
void MessageQueue::check_end(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (ended_ && !closing_ && waiting_for_end_ == 0 && now - ended_at_ > patience_at_end) platform::end_at_once(exit_code_of_lost_job);
}

}  // namespace skipstone::cluster
