// Messages between ranks. One thread makes all calls of MPI: MPI's own waits keep a core busy, which the device's driver may need, and a
// message that is not received yet must not block its sender.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace skipstone::cluster {

/// The type of a message; MPI's tag.
enum class Topic : int { stage = 1, text = 2, end = 3, heartbeat = 4 };

struct Arrival {
  std::vector<std::byte> bytes;
  std::chrono::steady_clock::time_point at;
};

class MessageQueue {
 public:
  /// MPI must be initialised. `stopped`: polled; whether the process is to end.
  MessageQueue(int rank, int ranks, bool (*stopped)());
  /// Returns when all messages have been sent.
  ~MessageQueue();
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  void send(int rank, Topic topic, std::vector<std::byte> bytes);
  /// The next message of `rank`, in order.
  Arrival take(int rank, Topic topic);
  bool has(int rank, Topic topic);
  /// Waits until there is a message; false if rank 0 has ended the job instead.
  bool wait_for(int rank, Topic topic);
  /// Waits until rank 0 ends the job.
  void wait_for_end();

 private:
  using Clock = std::chrono::steady_clock;
  /// A message in transfer, with its MPI request.
  struct Message {
    int rank = 0;
    Topic topic = Topic::heartbeat;
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void run();
  bool send_some();
  bool take_some();
  void deliver(Message message);
  void heartbeat();
  void check_heartbeats(Clock::time_point now);
  void check_end(Clock::time_point now);
  std::deque<Arrival>& box(int rank, Topic topic) { return boxes_[static_cast<std::size_t>(topic) - 1][static_cast<std::size_t>(rank)]; }

  int rank_, ranks_;
  bool (*stopped_)();
  std::mutex mutex_;
  std::condition_variable arrived_;  ///< a message has arrived, or the job has ended
  std::condition_variable to_send_;
  std::deque<Message> outgoing_;
  std::array<std::vector<std::deque<Arrival>>, 3> boxes_;  ///< by topic and rank
  bool closing_ = false;
  bool ended_ = false;       ///< rank 0 has ended the job
  int waiting_for_end_ = 0;  ///< number of threads
  // Used by the thread alone:
  std::list<Message> sending_, receiving_;
  std::vector<Clock::time_point> heard_;
  Clock::time_point next_heartbeat_, ended_at_;
  Clock::time_point quiet_until_;  ///< after this process was suspended: another rank has already reported it
  std::jthread thread_;
};

/// Logs `sentence` if `say`, and ends this process and the job.
[[noreturn]] void end_job(bool say, const std::string& sentence);

/// Ends the job if an MPI call has failed.
void check_mpi(int result, const char* call);

}  // namespace skipstone::cluster
