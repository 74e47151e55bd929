#include "arrow/arrow_stream.hpp"

#include <utility>

namespace dpdistinct {
namespace {

struct Schema {
    std::vector<SchemaField> fields;
    std::vector<ArrowSchema> columns;
    std::vector<ArrowSchema*> children;
};

struct Batch {
    std::shared_ptr<void> data;
    std::vector<ColumnBuffers> buffers;
    std::vector<ArrowArray> columns;
    std::vector<ArrowArray*> children;
    const void* validity = nullptr;
};

template <class Owner, class T>
void release(T* given) {
    delete static_cast<Owner*>(given->private_data);
    given->release = nullptr;
}

template <class T>
void release_child(T* given) {
    given->release = nullptr;
}

}  // namespace

ArrowSchema table_schema(std::vector<SchemaField> fields) {
    constexpr std::int64_t kNullable = 2;
    auto schema = std::make_unique<Schema>();
    schema->fields = std::move(fields);
    for (const SchemaField& field : schema->fields)
        schema->columns.push_back({field.format.c_str(), field.name.c_str(), nullptr, field.nullable ? kNullable : 0, 0,
                                   nullptr, nullptr, release_child<ArrowSchema>, nullptr});
    for (ArrowSchema& column : schema->columns) schema->children.push_back(&column);
    const auto count = static_cast<std::int64_t>(schema->children.size());
    ArrowSchema** const children = schema->children.data();
    return {"+s", "", nullptr, 0, count, children, nullptr, release<Schema, ArrowSchema>, schema.release()};
}

ArrowArray table_batch(std::size_t rows, const std::vector<ColumnBuffers>& columns, std::shared_ptr<void> data) {
    auto batch = std::make_unique<Batch>();
    batch->data = std::move(data);
    batch->buffers = columns;
    const auto length = static_cast<std::int64_t>(rows);
    for (ColumnBuffers& column : batch->buffers)
        batch->columns.push_back({length, column.nulls, 0, column.count, 0, column.buffers.data(), nullptr, nullptr,
                                  release_child<ArrowArray>, nullptr});
    for (ArrowArray& column : batch->columns) batch->children.push_back(&column);
    const auto count = static_cast<std::int64_t>(batch->children.size());
    const void** const validity = &batch->validity;
    ArrowArray** const children = batch->children.data();
    return {length, 0, 0, 1, count, validity, children, nullptr, release<Batch, ArrowArray>, batch.release()};
}

}  // namespace dpdistinct
