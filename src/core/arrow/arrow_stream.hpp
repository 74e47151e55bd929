// Makes Arrow streams.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "arrow/arrow.hpp"

namespace dpdistinct {

struct SchemaField {
    std::string name, format;
    bool nullable = true;
};

// A table with these columns.
ArrowSchema table_schema(std::vector<SchemaField> fields);

struct ColumnBuffers {
    std::array<const void*, 3> buffers;  // only the first `count` are used
    int count;
    std::int64_t nulls;
};

// A batch of rows. It keeps `data` alive, because the buffers point into it.
ArrowArray table_batch(std::size_t rows, const std::vector<ColumnBuffers>& columns, std::shared_ptr<void> data);

// 0, or the error code of what `work` throws.
template <class Work>
int error_code(Work work) {
    try {
        work();
        return 0;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (...) {
        return EIO;
    }
}

// A stream from an object with schema() and next(out). At the end, next(out) leaves `out` without a release
// callback. An exception becomes an error code; its text is dropped, because it may quote the data.
template <class Stream>
ArrowArrayStream arrow_stream(std::unique_ptr<Stream> stream) {
    return {
        [](ArrowArrayStream* self, ArrowSchema* out) {
            return error_code([&] { *out = static_cast<Stream*>(self->private_data)->schema(); });
        },
        [](ArrowArrayStream* self, ArrowArray* out) {
            out->release = nullptr;
            return error_code([&] { static_cast<Stream*>(self->private_data)->next(out); });
        },
        [](ArrowArrayStream*) -> const char* { return nullptr; },
        [](ArrowArrayStream* self) {
            delete static_cast<Stream*>(self->private_data);
            self->release = nullptr;
        },
        stream.release(),
    };
}

}  // namespace dpdistinct
