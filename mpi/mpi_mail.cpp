#include "mpi/mpi_mail.hpp"

// The C++ bindings of MPI-2 are not used.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace orrery::mpi {

namespace {

constexpr int kTag = 1;

std::string read(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  MPI_Recv(text.data(), size, MPI_CHAR, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return text;
}

}  // namespace

MpiMail::MpiMail() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &processes_);
  MPI_Comm_rank(MPI_COMM_WORLD, &number_);
}

MpiMail::~MpiMail() { MPI_Finalize(); }

void MpiMail::send(const std::string& text, int to) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, kTag, MPI_COMM_WORLD);
}

std::string MpiMail::receive(int from) {
  MPI_Status status;
  MPI_Probe(from, kTag, MPI_COMM_WORLD, &status);
  return read(status);
}

std::optional<sweep::Mail::Letter> MpiMail::take_any() {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status);
  if (there == 0) {
    return std::nullopt;
  }
  return Letter{status.MPI_SOURCE, read(status)};
}

}  // namespace orrery::mpi
