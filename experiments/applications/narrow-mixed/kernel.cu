#include "../cuda.h"
#include "../tasks.h"
#include "../narrow-des/task.h"
#include "../narrow-mandelbrot/task.h"
#include "../narrow-filter-bank/task.h"
#include "../narrow-matmul/task.h"

TASK_FUNCTIONS(triple_des_task, mandelbrot_task, filter_bank_task, multiply_tiled_task, multiply_task)
